import {
  ALGORITHM_NAMES,
  type FullStore,
  fixedWindow,
  leakyBucket,
  ManualClock,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import {
  ReferenceStore,
  randomFrom,
  randomSlotTrace,
  randomTrace,
  runSlotTrace,
  runTrace,
} from '@tidegate/core/testing'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { timedStore } from './timed-store.js'

// Compares the TypeScript and the Lua functions on random traces with every operation: changes of numbers, refunds,
// charges, resets, and clocks that step back or blocks. A block that has ended is dropped at a different
// moment by each store, which shows only if the clock steps back. Every field of every answer must be equal.

const TRACES = 50
const STEPS = 400
/** Seeds that found a difference before, by algorithm. They are tried first. */
const KEPT: Record<string, number[]> = { 'token-bucket': [99056525], 'leaky-bucket': [539499534] }

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it.each(ALGORITHM_NAMES)(`%s: ${TRACES * STEPS} steps`, async (algorithm) => {
  const fresh = Math.floor(Math.random() * 2 ** 31)
  const seeds = [...(KEPT[algorithm] ?? []), ...Array.from({ length: TRACES }, (_, i) => fresh + i)]
  for (const seed of seeds) {
    const trace = randomTrace(seed, algorithm, {
      length: STEPS,
      numbersChange: true,
      clockStepsBack: true,
      operations: ['charge', 'block', 'takeUpTo'],
    })
    const [tsClock, luaClock] = [new ManualClock(), new ManualClock()]
    const store = timedStore(server.url, luaClock, `d${seed}`)
    try {
      const expected = await runTrace(trace, new ReferenceStore(tsClock), tsClock)
      const actual = await runTrace(trace, store, luaClock)
      for (const [i, answer] of actual.entries()) {
        expect({ seed, step: i, ...trace.steps[i], answer }).toStrictEqual({
          seed,
          step: i,
          ...trace.steps[i],
          answer: expected[i],
        })
      }
    } finally {
      await store.close()
    }
  }
})

it(`slots: ${TRACES * STEPS} steps`, async () => {
  const fresh = Math.floor(Math.random() * 2 ** 31)
  const seeds = [...(KEPT.concurrency ?? []), ...Array.from({ length: TRACES }, (_, i) => fresh + i)]
  for (const seed of seeds) {
    const steps = randomSlotTrace(seed, { length: STEPS, clockStepsBack: true, numbersChange: true })
    const [tsClock, luaClock] = [new ManualClock(), new ManualClock()]
    const store = timedStore(server.url, luaClock, `s${seed}`)
    try {
      const expected = await runSlotTrace(steps, new ReferenceStore(tsClock), tsClock)
      const actual = await runSlotTrace(steps, store, luaClock)
      for (const [i, answer] of actual.entries()) {
        const step = { seed, number: i, ...steps[i] }
        expect({ ...step, answer }).toStrictEqual({ ...step, answer: expected[i] })
      }
    } finally {
      await store.close()
    }
  }
})

it.each([
  tokenBucket({ capacity: 1_000_000_000, refillRate: '1000/9007199ms', name: 'centuries' }),
  leakyBucket({ capacity: 1_000_000_000, leakRate: '1000/9007199ms', name: 'centuries' }),
])('$algorithm: waits above 2^53, after the clock has stepped back', async (policy) => {
  const clock = new ManualClock(Date.parse('2030-01-01T10:00:00Z'))
  const reference = new ReferenceStore(clock)
  const store = timedStore(server.url, clock, policy.algorithm)
  try {
    for (const cost of [policy.limit - 5, 1, policy.limit, 1]) {
      const request = { policy, key: 'k', cost }
      expect(await store.check(request)).toStrictEqual(reference.check(request))
      clock.advance(-86_400_000.001)
    }
  } finally {
    await store.close()
  }
})

it('one call with every kind of entry decides as separate calls do', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { between, oneOf } = randomFrom(seed)
  const clock = new ManualClock(Date.parse('2030-01-01T10:00:00Z'))
  const reference = new ReferenceStore(clock)
  const store = timedStore(server.url, clock, `b${seed}`)
  const policies = [
    fixedWindow({ limit: 15, window: '7s', name: 'fixed' }),
    slidingWindowLog({ limit: 15, window: '7s', name: 'log' }),
    slidingWindowCounter({ limit: 15, window: '7s', name: 'counter' }),
    tokenBucket({ capacity: 15, refillRate: '3/2s', name: 'token' }),
    leakyBucket({ capacity: 15, leakRate: '3/2s', name: 'leaky' }),
    fixedWindow({ limit: 15, window: '7s', start: 'first-request', name: 'first', countDenied: true }),
    fixedWindow({ limit: 15, window: 'day', name: 'day', blockFor: '2s' }),
    slidingWindowLog({
      limit: 15,
      window: '7s',
      name: 'strict',
      countDenied: true,
      blockFor: '3s',
    }),
  ]
  const times: number[] = [0]
  function step(): (on: FullStore) => unknown {
    const one = () => ({ policy: oneOf(policies), key: `k${between(0, 2)}`, cost: between(1, 3) })
    const request = one()
    const kind = between(0, 12)
    const [cost, durationMs] = [between(1, 20), between(1, 3000)]
    if (kind === 10) return (on) => on.charge({ ...request, cost })
    if (kind === 11 && request.policy.algorithm !== 'leaky-bucket')
      return (on) => on.takeUpTo({ ...request, min: request.cost, max: 12, divisor: 2 })
    if (kind === 12) return (on) => on.block({ ...request, durationMs })
    if (kind < 4) return (on) => on.check(request)
    if (kind < 5) return (on) => on.peek(request)
    if (kind < 6) return (on) => on.reset(request)
    const timeMs = oneOf(times.slice(-8))
    if (kind < 7) return (on) => on.refund({ ...request, timeMs })
    const several = Array.from({ length: between(2, 5) }, one)
    return (on) => on.take(several)
  }
  try {
    // Until the first reply, the server's time is not known, and an entry with a calendar window can be decided late.
    await store.peek({ policy: policies[0]!, key: 'k0', cost: 1 })
    for (let round = 0; round < 300; round++) {
      const steps = Array.from({ length: between(1, 30) }, step)
      const actual = await Promise.all(steps.map((of) => of(store as unknown as FullStore)))
      const expected: unknown[] = []
      for (const of of steps) expected.push(await of(reference as unknown as FullStore))
      expect({ seed, round, answers: actual }).toStrictEqual({ seed, round, answers: expected })
      times.push(clock.nowMs())
      clock.advance(between(1, 20) === 1 ? -between(0, 20_000) : between(0, 1500))
    }
  } finally {
    await store.close()
  }
})
