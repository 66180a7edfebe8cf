import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { concurrency } from '../policy/index.js'
import type { Mode } from './algorithm.js'
import { type ConcurrencyState, decide, release, renew } from './concurrency.js'

const SECOND = 1_000_000
const START = 1_800_000_000 * SECOND
const two = concurrency({ limit: 2, ttl: '10s', name: 'two' })

/** One key, whose time is set in seconds after the start. */
function keyOf(policy = two) {
  let state: ConcurrencyState | undefined
  const at = (seconds: number) => START + seconds * SECOND
  return {
    acquire(seconds: number, id: string, { mode = 'take' as Mode, by = policy } = {}) {
      const outcome = decide(by, state, at(seconds), mode, id)
      state = outcome.state as ConcurrencyState | undefined
      return outcome.decision
    },
    release(seconds: number, id: string): boolean {
      const change = state && release(state, at(seconds), id)
      if (change !== undefined) state = change.state
      return change?.held ?? false
    },
    renew(seconds: number, id: string, by = policy): boolean {
      const change = state && renew(by, state, at(seconds), id)
      if (change !== undefined) state = change.state
      return change?.held ?? false
    },
    expiresAfter: (seconds: number) => state && (state.expiresAt - at(seconds)) / SECOND,
  }
}

describe('acquire', () => {
  it('decides by the slots in flight', () => {
    const key = keyOf()
    expect(key.acquire(0, 'a')).toStrictEqual({
      allowed: true,
      limit: 2,
      cost: 1,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 10_000,
      delayMs: 0,
      timeMs: START / 1000,
      policy: 'two',
      id: 'a',
    })
    expect(key.acquire(4, 'b')).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 10_000 })
    expect(key.acquire(5, 'c')).toStrictEqual({
      allowed: false,
      limit: 2,
      cost: 1,
      remaining: 0,
      retryAfterMs: 5000,
      resetAfterMs: 9000,
      delayMs: 0,
      timeMs: START / 1000 + 5000,
      policy: 'two',
      reason: 'slot',
    })
  })

  it('allows again from the microsecond at which a slot expires', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(4, 'b')
    expect(key.acquire(9.999999, 'c')).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
    expect(key.acquire(10, 'c')).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('keeps the slot of an id that holds one, and renews it', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(0, 'b')
    expect(key.acquire(6, 'a')).toMatchObject({ allowed: true, remaining: 0, id: 'a' })
    expect(key.acquire(7, 'c')).toMatchObject({ allowed: false, retryAfterMs: 3000, resetAfterMs: 9000 })
  })

  it('with a lower limit, waits until enough slots have expired', () => {
    const wide = concurrency({ limit: 4, ttl: '10s', name: 'two' })
    const key = keyOf(wide)
    for (const seconds of [0, 1, 2, 3]) key.acquire(seconds, `s${seconds}`)
    expect(key.acquire(4, 'x', { by: two })).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 8000,
    })
    expect(key.acquire(12, 'x', { by: two })).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('peek takes nothing and has no id', () => {
    const key = keyOf()
    const look = key.acquire(0, 'a', { mode: 'peek' })
    expect([look.allowed, look.remaining, look.resetAfterMs, 'id' in look]).toEqual([true, 2, 0, false])
    expect(key.expiresAfter(0)).toBeUndefined()
  })
})

describe('release', () => {
  it('frees the slot once', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(1, 'b')
    expect([key.release(2, 'a'), key.release(2, 'a'), key.release(2, 'unknown')]).toEqual([
      true,
      false,
      false,
    ])
    expect(key.acquire(2, 'c')).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('of an expired slot returns that it was not held', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    expect(key.release(10, 'a')).toBe(false)
  })

  it('of the last slot deletes the state', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(1, 'b')
    key.release(2, 'b')
    expect(key.expiresAfter(0)).toBe(10)
    key.release(2, 'a')
    expect(key.expiresAfter(0)).toBeUndefined()
  })
})

describe('renew', () => {
  it('holds the slot for another ttl', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    expect(key.renew(9.999999, 'a')).toBe(true)
    key.acquire(12, 'b')
    expect(key.acquire(19, 'c').allowed).toBe(false)
    expect(key.acquire(19.999999, 'c').allowed).toBe(true)
  })

  it('fails after the expiry, because another request may have the slot', () => {
    const key = keyOf(concurrency({ limit: 1, ttl: '10s', name: 'one' }))
    key.acquire(0, 'a')
    expect(key.renew(10, 'a')).toBe(false)
    expect(key.acquire(10, 'b').allowed).toBe(true)
    expect(key.renew(11, 'a')).toBe(false)
    expect(key.acquire(11, 'c')).toMatchObject({ allowed: false, retryAfterMs: 9000 })
  })

  it('fails for a released slot', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(0, 'b')
    key.release(1, 'a')
    expect(key.renew(2, 'a')).toBe(false)
    expect(key.acquire(2, 'c').remaining).toBe(0)
  })
})

describe('clocks', () => {
  it('cuts an expiry later than now + ttl, so that a step back costs at most one ttl', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(0, 'b')
    expect(key.acquire(-3600, 'c', { mode: 'peek' })).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
    expect(key.acquire(-3600, 'c')).toMatchObject({ retryAfterMs: 10_000, resetAfterMs: 10_000 })
    expect(key.acquire(-3590, 'c').allowed).toBe(true)
  })

  it('a denied take cuts an expiry too', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(-3600, 'b', { mode: 'repair' })
    expect(key.expiresAfter(-3600)).toBe(10)
  })

  it('a renewal after a step back cuts the other slots', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(0, 'b')
    expect(key.renew(-3600, 'a')).toBe(true)
    expect(key.acquire(-3590, 'c')).toMatchObject({ allowed: true, remaining: 1 })
  })

  it('a shorter ttl shortens the expiry, a longer ttl does not extend it', () => {
    const key = keyOf()
    key.acquire(0, 'a')
    key.acquire(0, 'b')
    const short = concurrency({ limit: 2, ttl: '1s', name: 'two' })
    const long = concurrency({ limit: 2, ttl: '1d', name: 'two' })
    expect(key.acquire(1, 'c', { by: long, mode: 'peek' }).retryAfterMs).toBe(9000)
    expect(key.acquire(1, 'c', { by: short, mode: 'peek' }).retryAfterMs).toBe(1000)
  })
})

/** The same rules on a simple list, which is scanned for every step. */
function createOracle() {
  let slots: { id: string; end: number }[] = []
  return {
    acquire({ limit, ttlUs }: typeof two, now: number, id: string) {
      const cut = slots.map((slot) => ({ ...slot, end: Math.min(slot.end, now + ttlUs) }))
      const valid = cut.filter(({ end }) => end > now)
      const others = valid.filter((slot) => slot.id !== id)
      const ends = valid.map(({ end }) => end).sort((a, b) => a - b)
      const allowed = others.length < valid.length || valid.length < limit
      const retryAfterMs = allowed ? 0 : (ends[ends.length - limit]! - now) / 1000
      const isCut = cut.some(({ end }, i) => end !== slots[i]!.end)
      if (allowed) slots = [...others, { id, end: now + ttlUs }]
      else if (isCut) slots = valid
      return { allowed, retryAfterMs, remaining: Math.max(0, limit - (allowed ? slots : valid).length) }
    },
    release(now: number, id: string): boolean {
      const held = slots.some((slot) => slot.id === id && slot.end > now)
      slots = slots.filter((slot) => slot.id !== id)
      return held
    },
    renew({ ttlUs }: typeof two, now: number, id: string): boolean {
      const held = slots.some((slot) => slot.id === id && slot.end > now)
      if (!held) return false
      slots = slots.map((slot) => ({
        ...slot,
        end: slot.id === id ? now + ttlUs : Math.min(slot.end, now + ttlUs),
      }))
      return true
    },
  }
}

it('decides random traces like a simple list', () => {
  const step = fc.record({
    do: fc.constantFrom('acquire', 'acquire', 'acquire', 'release', 'renew'),
    id: fc.integer({ min: 0, max: 9 }).map(String),
    moveUs: fc.oneof(
      fc.constantFrom(0, 1, SECOND, 10 * SECOND - 1, 10 * SECOND, 10 * SECOND + 1),
      fc.integer({ min: -30 * SECOND, max: 12 * SECOND }),
    ),
    policy: fc.constantFrom(
      two,
      concurrency({ limit: 5, ttl: '10s', name: 'two' }),
      concurrency({ limit: 5, ttl: '3s', name: 'two' }),
    ),
  })
  holds('concurrency', fc.array(step, { maxLength: 60 }), (steps) => {
    const oracle = createOracle()
    let state: ConcurrencyState | undefined
    let now = START
    for (const { do: what, id, moveUs, policy } of steps) {
      now += moveUs
      if (what === 'acquire') {
        const outcome = decide(policy, state, now, 'take', id)
        const { allowed, retryAfterMs, remaining } = outcome.decision
        expect({ allowed, retryAfterMs, remaining }).toEqual(oracle.acquire(policy, now, id))
        state = outcome.state as ConcurrencyState | undefined
      } else if (state !== undefined) {
        const change = what === 'release' ? release(state, now, id) : renew(policy, state, now, id)
        expect(change.held).toBe(what === 'release' ? oracle.release(now, id) : oracle.renew(policy, now, id))
        state = change.state
      }
    }
  })
})
