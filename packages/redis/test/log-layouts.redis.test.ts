import { fixedWindow, ManualClock, slidingWindowLog } from '@tidegate/core'
import { ReferenceStore, randomFrom, runTrace, type TraceStep } from '@tidegate/core/testing'
import { expect, it } from 'vitest'
import { redisKey } from '../src/keys.js'
import type { RedisStore } from '../src/redis-store.js'
import { packedState } from './packed-state.js'
import { timedStore } from './timed-store.js'
import { useRedis } from './use-redis.js'

// A short log is stored as a string, a long one as a list. Decisions must not depend on the layout.

const START_MS = Date.parse('2030-01-01T10:00:00Z')
/** The most runs that a log in a string can have, as in lua/lib/log.lua. */
const PACKED = 64
/** Seeds that found a difference before. They are tried first. */
const KEPT: readonly number[] = []

const on = useRedis()

it('logs that change their layout decide as the TypeScript function does: 12,000 steps', async () => {
  const fresh = Math.floor(Math.random() * 2 ** 31)
  const changes = { 'string to list': 0, 'list to string': 0 }
  for (const seed of [...KEPT, ...Array.from({ length: 20 }, (_, i) => fresh + i)]) {
    const steps = longTrace(seed, 600)
    const [tsClock, luaClock] = [new ManualClock(), new ManualClock()]
    const store = timedStore(on.server.url, luaClock, `l${seed}`)
    try {
      const types: string[] = []
      const watched = Object.assign(Object.create(store), {
        // The type of the key after each check.
        async check(...args: Parameters<RedisStore['check']>) {
          const decision = await store.check(...args)
          types.push(await on.redis.type(redisKey(`l${seed}`, 'traced', 'k')))
          return decision
        },
        peek: store.peek.bind(store),
        refund: store.refund.bind(store),
        reset: store.reset.bind(store),
      }) as RedisStore
      const trace = { seed, algorithm: 'sliding-window-log' as const, steps }
      const expected = await runTrace(trace, new ReferenceStore(tsClock), tsClock)
      const actual = await runTrace(trace, watched, luaClock)
      for (const [i, answer] of actual.entries()) {
        expect({ seed, step: i, ...steps[i], answer }).toStrictEqual({
          seed,
          step: i,
          ...steps[i],
          answer: expected[i],
        })
      }
      for (const [i, type] of types.entries()) {
        const change = `${types[i - 1]} to ${type}`
        if (change in changes) changes[change as keyof typeof changes]++
      }
    } finally {
      await store.close()
    }
  }
  expect(changes['string to list']).toBeGreaterThan(5)
  expect(changes['list to string']).toBeGreaterThan(2)
})

it('a log of up to 64 runs is a string, a longer one a list of the same numbers', async () => {
  const clock = new ManualClock(START_MS)
  const store = timedStore(on.server.url, clock, 'layout')
  const policy = slidingWindowLog({ limit: 100, window: '1h', name: 'p' })
  const name = redisKey('layout', 'p', 'k')
  try {
    for (let i = 1; i <= PACKED; i++) {
      await store.check({ policy, key: 'k', cost: 1 })
      clock.advance(1)
    }
    const packed = (await on.redis.getBuffer(name))!
    expect(packed.subarray(0, 1).toString()).toBe('l')
    const numbers = Array.from({ length: (packed.length - 1) / 8 }, (_, i) => packed.readDoubleLE(1 + 8 * i))
    const runs = Array.from({ length: PACKED }, (_, i) => [(START_MS + i) * 1000, i + 1]).flat()
    expect(numbers).toStrictEqual([0, 0, ...runs])

    await store.check({ policy, key: 'k', cost: 2 })
    const list = await on.redis.lrange(name, 0, -1)
    expect(list.map(Number)).toStrictEqual([0, 0, ...runs, (START_MS + PACKED) * 1000, PACKED + 2])
    // Keys of a test that passes a time live an hour longer.
    expect(await on.redis.pttl(name)).toBeGreaterThan(3_600_000)
  } finally {
    await store.close()
  }
})

it('no layout causes errors on the server, and a list becomes a string once its units have left', async () => {
  const clock = new ManualClock(START_MS)
  const store = timedStore(on.server.url, clock, 'errors')
  await on.redis.config('RESETSTAT')
  const [small, large] = [10, 1000].map((limit) => slidingWindowLog({ limit, window: '10s', name: 'p' }))
  try {
    for (let i = 0; i < 3 * PACKED; i++) {
      await store.check({ policy: small!, key: 'short', cost: 1 })
      await store.check({ policy: large!, key: 'long', cost: 1 })
      clock.advance(50)
    }
    expect(await on.redis.type(redisKey('errors', 'p', 'long'))).toBe('list')
    expect(await on.redis.info('errorstats')).not.toContain('WRONGTYPE')

    clock.advance(10_000)
    expect((await store.check({ policy: small!, key: 'long', cost: 1 })).remaining).toBe(9)
    expect(await on.redis.type(redisKey('errors', 'p', 'long'))).toBe('string')
    expect(await on.redis.info('errorstats')).not.toContain('WRONGTYPE')
  } finally {
    await store.close()
  }
})

const NOW = START_MS * 1000

it.each([
  ['without a shift', [], 0],
  ['with a shift', [-5000], 5000],
])('reads a list of version 0.1.0 %s', async (_, front, storedAhead) => {
  const clock = new ManualClock(START_MS)
  const store = timedStore(on.server.url, clock, 'old')
  const policy = slidingWindowLog({ limit: 100, window: '1s', name: 'p' })
  const name = redisKey('old', 'p', 'k')
  const runs = Array.from({ length: 70 }, (_, i) => [NOW - 70_000 + i * 1000 + storedAhead, 7 + i]).flat()
  try {
    await on.redis.del(name)
    await on.redis.rpush(name, ...front, 6, ...runs)
    expect(await store.peek({ policy, key: 'k', cost: 31 })).toMatchObject({
      allowed: false,
      remaining: 30,
      retryAfterMs: 930,
      resetAfterMs: 999,
    })
    expect((await store.check({ policy, key: 'k', cost: 30 })).remaining).toBe(0)
    // The first 40 runs have left.
    clock.advance(970)
    expect((await store.check({ policy, key: 'k', cost: 1 })).remaining).toBe(40)
    expect(await store.refund({ policy, key: 'k', timeMs: START_MS, cost: 40 })).toBe(30)
    expect((await store.peek({ policy, key: 'k', cost: 1 })).remaining).toBe(70)
  } finally {
    await store.close()
  }
})

/** The numbers of the longest log in a string. Its newest run is one microsecond old. */
function full(): number[] {
  return [0, 0, ...Array.from({ length: PACKED }, (_, i) => [NOW - PACKED + i, i + 1]).flat()]
}

it('an invalid number in a log that becomes a list does not charge another limit twice', async () => {
  const store = timedStore(on.server.url, new ManualClock(START_MS), 'damaged')
  const log = slidingWindowLog({ limit: 100, window: '1h', name: 'log' })
  try {
    for (const odd of [Number.NaN, 0.5, 2 ** 60]) {
      const other = fixedWindow({ limit: 5, window: '1h', name: 'other' })
      await on.redis.flushall()
      await on.redis.set(redisKey('damaged', 'log', 'k'), packedState('l', ...full().with(40, odd)))
      const requests = [other, log].map((policy) => ({ policy, key: 'k', cost: 1 }))
      expect((await store.take(requests)).allowed).toBe(true)
      expect((await store.peek({ policy: other, key: 'k', cost: 1 })).remaining).toBe(4)
    }
  } finally {
    await store.close()
  }
})

it.each([
  ['a total of 2^53 - 1', [0, 0, NOW - 1, 2 ** 53 - 1]],
  ['an old time after a recent one', [0, 0, NOW - 30, 1, 5, 2, NOW - 10, 3]],
  ['totals that go down', [0, 0, NOW - 30, 8, NOW - 20, 7, NOW - 10, 9]],
])('a short log with %s fails no check, and decisions are valid', async (_, numbers) => {
  const store = timedStore(on.server.url, new ManualClock(START_MS), 'odd')
  const policy = slidingWindowLog({ limit: 4, window: '1h', name: 'log' })
  const sound = slidingWindowLog({ limit: 4, window: '1h', name: 'sound' })
  const name = redisKey('odd', policy.name, 'k')
  async function make(): Promise<void> {
    await on.redis.flushall()
    await on.redis.set(name, packedState('l', ...numbers))
  }
  try {
    for (const cost of [1, 2, 4]) {
      await make()
      const [decision, beside] = await Promise.all([
        store.check({ policy, key: 'k', cost }),
        store.check({ policy: sound, key: 'k', cost }),
      ])
      expect(beside.remaining).toBe(4 - cost)
      expect(decision.remaining).toBeGreaterThanOrEqual(0)
      expect(decision.allowed || decision.retryAfterMs > 0).toBe(true)
    }
    for (const at of [30, 20, 10]) {
      await make()
      const units = await store.refund({ policy, key: 'k', timeMs: (NOW - at) / 1000, cost: 1 })
      expect([0, 1]).toContain(units)
      if (units === 1) expect(await on.redis.pttl(name)).not.toBe(-1)
    }
  } finally {
    await store.close()
  }
})

/** Mostly small steps in time, so that logs get long, and sometimes a large one. */
function longTrace(seed: number, length: number): TraceStep[] {
  const { between, oneOf } = randomFrom(seed)
  const policies = [
    [1000, 150, PACKED + 1],
    [PACKED, PACKED - 1, 40],
    [150, 20, 3],
  ].map((limits) => slidingWindowLog({ limit: oneOf(limits), window: between(1500, 4500), name: 'traced' }))
  let policy = policies[0]!
  let timeMs = START_MS
  return Array.from({ length }, (_, i): TraceStep => {
    if (between(1, 100) === 1) policy = oneOf([policies[0]!, ...policies])
    const leap = between(1, 200)
    if (leap === 1) timeMs += between(0, 5000)
    else if (leap <= 3) timeMs -= between(0, 300)
    else if (leap === 4) timeMs -= between(0, 9000)
    else timeMs += between(0, 25)
    const common = { timeMs, key: 'k', policy }
    const cost = between(1, 30) === 1 ? between(1, Math.min(policy.limit, 20)) : 1
    const dice = between(1, 30)
    if (dice === 1) return { ...common, do: 'peek', cost }
    if (dice <= 4 && i > 0) return { ...common, do: 'refund', ofStep: Math.max(0, i - between(1, 70)), cost }
    return { ...common, do: 'check', cost }
  })
}
