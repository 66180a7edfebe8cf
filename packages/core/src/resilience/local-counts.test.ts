import { describe, expect, it } from 'vitest'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { fixedWindow, leakyBucket, type Policy, tokenBucket } from '../policy/index.js'
import { createLocalCounts } from './local-counts.js'

const START_MS = 1_800_000_000_000
/** The share of this process is half of each. */
const hour = fixedWindow({ limit: 10, window: '1h', name: 'hour', instances: 2 })
const bucket = tokenBucket({ capacity: 10, refillRate: 10, name: 'bucket', instances: 2 })

function setUp() {
  const clock = new ManualClock(START_MS)
  const timers = new ManualTimers()
  const counts = createLocalCounts({ clock, now: timers.now, waitMs: () => 1234 })
  return {
    clock,
    counts,
    check: (policy: Policy = hour, key = 'k', cost = 1) => counts.check({ policy, key, cost }),
    async pass(ms: number) {
      clock.advance(ms)
      await timers.pass(ms)
    },
  }
}

describe('local counts', () => {
  it('allow the share of this process, and report what remains of it', () => {
    const { check } = setUp()
    for (const remaining of [4, 3, 2, 1, 0]) {
      expect(check()).toStrictEqual({
        allowed: true,
        limit: 10,
        cost: 1,
        remaining,
        retryAfterMs: 0,
        resetAfterMs: 3_600_000,
        delayMs: 0,
        timeMs: START_MS,
        policy: 'hour',
        degraded: 'local',
      })
    }
    expect(check()).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 3_600_000,
      degraded: 'local',
    })
    expect(check(hour, 'other')).toMatchObject({ allowed: true, remaining: 4 })
  })

  it('refill and drain at the share of the rate', async () => {
    const { check, pass } = setUp()
    check(bucket, 'k', 5)
    expect(check(bucket)).toMatchObject({ allowed: false, retryAfterMs: 200 })
    await pass(200)
    expect(check(bucket)).toMatchObject({ allowed: true, remaining: 0 })
    const leaky = leakyBucket({ capacity: 10, leakRate: 10, name: 'leaky', instances: 2 })
    check(leaky, 'k', 2)
    expect(check(leaky)).toMatchObject({ allowed: true, delayMs: 400 })
  })

  it('deny a cost above the share until the store is back, and charge nothing', () => {
    const { counts, check } = setUp()
    check()
    const denied = {
      allowed: false,
      cost: 6,
      limit: 10,
      remaining: 4,
      retryAfterMs: 1234,
      degraded: 'local',
    }
    expect(check(hour, 'k', 6)).toMatchObject(denied)
    expect(counts.peek({ policy: hour, key: 'k', cost: 6 })).toMatchObject(denied)
    expect(check(hour, 'k', 4)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('take from all limits or from none', () => {
    const { counts, check } = setUp()
    const both = (cost: number) => [
      { policy: hour, key: 'k', cost },
      { policy: bucket, key: 'k', cost: 3 },
    ]
    expect(counts.take(both(2))).toMatchObject({
      allowed: true,
      decisions: [
        { policy: 'hour', limit: 10, remaining: 3, degraded: 'local' },
        { policy: 'bucket', limit: 10, remaining: 2, degraded: 'local' },
      ],
    })
    expect(counts.take(both(1))).toMatchObject({
      allowed: false,
      decisions: [
        { allowed: true, remaining: 3 },
        { allowed: false, remaining: 2, retryAfterMs: 200 },
      ],
    })
    expect(counts.take(both(6))).toMatchObject({
      allowed: false,
      decisions: [{ allowed: false, retryAfterMs: 1234 }, { allowed: false }],
    })
    expect(check()).toMatchObject({ remaining: 2 })
  })

  it('refund units and reset a key', () => {
    const { counts, check } = setUp()
    const { timeMs } = check(hour, 'k', 5)
    expect(counts.refund({ policy: hour, key: 'k', timeMs, cost: 2 })).toBe(2)
    expect(check(hour, 'k', 2)).toMatchObject({ allowed: true, remaining: 0 })
    counts.reset({ policy: hour, key: 'k' })
    expect(check()).toMatchObject({ remaining: 4 })
  })

  it('start at zero if the last outage ended at least 10 s ago', async () => {
    for (const [upForMs, allowed] of [
      [9_999, false],
      [10_000, true],
    ] as const) {
      const { counts, check, pass } = setUp()
      counts.outageBegan()
      check(hour, 'k', 5)
      await pass(60_000)
      expect(check().allowed).toBe(false)
      counts.outageEnded()
      await pass(upForMs)
      counts.outageBegan()
      expect([upForMs, check().allowed]).toStrictEqual([upForMs, allowed])
    }
  })

  it('continue through the whole of an outage that begins within 10 s of the last', async () => {
    const { counts, check, pass } = setUp()
    counts.outageBegan()
    check(hour, 'k', 5)
    counts.outageEnded()
    await pass(5000)
    counts.outageBegan()
    await pass(20_000)
    expect(check().allowed).toBe(false)
  })

  it('include the failures before the outage is detected', async () => {
    const { counts, check, pass } = setUp()
    check(hour, 'k', 5)
    counts.outageBegan()
    expect(check().allowed).toBe(false)
    counts.outageEnded()
    await pass(10_000)
    expect(check(hour, 'k', 5).allowed).toBe(true)
    counts.outageBegan()
    expect(check().allowed).toBe(false)
  })

  it('refund nothing that was taken in an earlier outage', async () => {
    const { counts, check, pass } = setUp()
    counts.outageBegan()
    const { timeMs } = check(hour, 'k', 5)
    counts.outageEnded()
    await pass(10_000)
    expect(counts.refund({ policy: hour, key: 'k', timeMs, cost: 5 })).toBe(0)
    check(hour, 'k', 5)
    expect(counts.refund({ policy: hour, key: 'k', timeMs, cost: 5 })).toBe(0)
    expect(check().allowed).toBe(false)
  })
})
