import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simulate } from './simulate.js'
import { usedIn } from './state.js'

const ORIGIN = Date.parse('2030-01-01T00:00:00Z')

const numbers = { limit: 7, window: '1s' } as const
const policies: [string, RatePolicy, number?][] = [
  ['a fixed window', fixedWindow(numbers)],
  ['a log', slidingWindowLog(numbers)],
  ['a counter', slidingWindowCounter(numbers)],
  ['a token bucket', tokenBucket({ capacity: 7, refillRate: '5/3s' })],
  ['a leaky bucket', leakyBucket({ capacity: 7, leakRate: '5/3s' })],
  ['a fixed window from the first request', fixedWindow({ ...numbers, start: 'first-request' })],
  ['days', fixedWindow({ limit: 7, window: 'day', timeZone: 'Asia/Seoul' }), 20_000],
  ['a log that counts denied requests', slidingWindowLog({ ...numbers, countDenied: true })],
  ['a counter that counts denied requests', slidingWindowCounter({ ...numbers, countDenied: true })],
  [
    'a window from the first request that counts denied requests',
    fixedWindow({ ...numbers, start: 'first-request', countDenied: true }),
  ],
  ['a fixed window that blocks', fixedWindow({ ...numbers, blockFor: '700ms' })],
  ['a log that counts and blocks', slidingWindowLog({ ...numbers, countDenied: true, blockFor: '400ms' })],
  [
    'a counter that counts and blocks',
    slidingWindowCounter({ ...numbers, countDenied: true, blockFor: '2s' }),
  ],
  ['a token bucket that blocks', tokenBucket({ capacity: 7, refillRate: '5/3s', blockFor: '500ms' })],
  ['a leaky bucket that blocks', leakyBucket({ capacity: 7, leakRate: '5/3s', blockFor: '2s' })],
]

describe.each(policies)('the shown state of %s', (_name, policy, slower = 1) => {
  it('matches the remaining units of the core after any requests', () => {
    const times = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { maxLength: 60 })
    const moment = fc.integer({ min: 0, max: 6_000_000 })
    fc.assert(
      fc.property(times, moment, (timesUs, momentUs) => {
        const arrivals = timesUs.toSorted((a, b) => a - b).map((us) => (us * slower) / 1000)
        const at = (momentUs * slower) / 1000
        const clock = new ManualClock(ORIGIN)
        const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
        for (const time of arrivals.filter((each) => each <= at)) {
          clock.set(ORIGIN + time)
          limiter.check('visitor')
        }
        clock.set(ORIGIN + at)
        const state = simulate(policy, ORIGIN, arrivals).stateAt(at)
        const isBlocked = state.blockedMs > 0
        expect(limiter.peek('visitor').reason === 'blocked').toBe(isBlocked)
        // A lifted block leaves the count as it is. Only a charge shows the count of a blocked key.
        const { remaining } = isBlocked ? limiter.charge('visitor', 1) : limiter.peek('visitor')
        // resetAfterMs is rounded to a microsecond, in which a bucket changes by less than 1e-5.
        const left = Math.max(0, policy.limit - usedIn(state) - (isBlocked ? 1 : 0))
        return Math.floor(left - 1e-5) <= remaining && remaining <= Math.floor(left + 1e-5)
      }),
      { seed: 8, numRuns: 200, interruptAfterTimeLimit: 5000, endOnFailure: true },
    )
  })

  it('is unused before the first request', () => {
    const { stateAt } = simulate(policy, ORIGIN, [500])
    expect(usedIn(stateAt(499.999))).toBe(0)
    expect(usedIn(stateAt(500))).toBe(1)
  })
})

it('a limiter that blocks is blocked from its first denial on, and requests do not prolong it', () => {
  const policy = fixedWindow({ limit: 1, window: '1s', blockFor: '3s' })
  const { blocks, allowed, stateAt } = simulate(policy, ORIGIN, [100, 200, 1500, 3199, 3200])
  expect(blocks).toStrictEqual([{ fromMs: 200, toMs: 3200 }])
  expect(allowed).toStrictEqual([true, false, false, false, true])
  expect([100, 200, 1200, 3199, 3200].map((at) => stateAt(at).blockedMs)).toStrictEqual([0, 3000, 2000, 1, 0])
})

it('a window from the first request is open for its length, and closed until the next request', () => {
  const policy = fixedWindow({ limit: 1, window: '1s', start: 'first-request' })
  const { windowStartsMs, stateAt } = simulate(policy, ORIGIN, [300, 400, 1300, 2900])
  expect(windowStartsMs).toStrictEqual([300, 1300, 2900])
  expect(stateAt(299)).toMatchObject({ count: 0, elapsed: undefined })
  expect(stateAt(800)).toMatchObject({ count: 1, elapsed: 0.5 })
  expect(stateAt(2500)).toMatchObject({ count: 0, elapsed: undefined })
})

it('a log that counts denied requests keeps at most twice the limit', () => {
  const policy = slidingWindowLog({ limit: 2, window: '1s', countDenied: true })
  const arrivals = Array.from({ length: 9 }, (_, i) => i * 10)
  expect(simulate(policy, ORIGIN, arrivals).stateAt(80)).toMatchObject({ count: 4, limit: 2 })
})
