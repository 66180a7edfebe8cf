import {
  fixedWindow,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { findOverAdmission } from '@tidegate/core/testing'
import { describe, expect, it } from 'vitest'
import { arrivalsOf } from './arrivals.js'
import { simulateLeases } from './leases.js'
import { mostAdmittedSoFar } from './most-admitted.js'
import { simulate } from './simulate.js'
import { valueAt } from './steps.js'

const ORIGIN = Date.parse('2030-01-01T00:00:00Z')
const WINDOW_MS = 10_000
const SPAN_MS = 40_000
const LIMIT = 1000

const shared = { instances: 4, lease: { maxAge: '1s', share: 0.05 } } as const
const windowed = { limit: LIMIT, window: '10s', ...shared } as const
const policies: [string, RatePolicy][] = [
  ['a fixed window', fixedWindow(windowed)],
  ['a log', slidingWindowLog(windowed)],
  ['a counter', slidingWindowCounter(windowed)],
  ['a token bucket', tokenBucket({ capacity: LIMIT, refillRate: `${LIMIT}/10s`, ...shared })],
]

const { arrivals: ramp } = arrivalsOf({ kind: 'ramp', perWindow: 2600 }, WINDOW_MS, SPAN_MS)
const axis = { originMs: ORIGIN, spanMs: SPAN_MS, arrivals: ramp }

describe.each(policies)('leases of %s', (_name, policy) => {
  it('never admit more than the limit, although more is requested', async () => {
    const { admittedMs } = await simulateLeases(policy, axis)
    expect(admittedMs.length).toBeLessThan(ramp.length)
    const history = admittedMs.map((at) => ({ startMs: ORIGIN + at, endMs: ORIGIN + at, cost: 1 }))
    expect(findOverAdmission(policy, history)).toBeUndefined()
    const most = mostAdmittedSoFar(policy, ORIGIN, admittedMs).at(-1)!
    expect(most).toBeLessThanOrEqual(LIMIT)
    expect(most).toBeGreaterThan(0.8 * LIMIT)
  })

  it('save most store calls of a busy key, and none of a cold one', async () => {
    const { arrivals } = arrivalsOf({ kind: 'steady', perWindow: 800 }, WINDOW_MS, SPAN_MS)
    const busy = await simulateLeases(policy, { ...axis, arrivals })
    expect(busy.admittedMs).toHaveLength(arrivals.length)
    expect(busy.callsMs.length).toBeLessThan(0.4 * arrivals.length)

    // Each process gets a request every 2 seconds.
    const { arrivals: few } = arrivalsOf({ kind: 'steady', perWindow: 20 }, WINDOW_MS, SPAN_MS)
    const cold = await simulateLeases(policy, { ...axis, arrivals: few })
    expect(cold.callsMs).toStrictEqual(few)
    expect(cold.inHand.flatMap(({ values }) => values)).toStrictEqual([0, 0, 0, 0])
  })

  it('leave no process with more than its share, and none with units after maxAge', async () => {
    const { arrivals } = arrivalsOf({ kind: 'steady', perWindow: 800 }, WINDOW_MS, 9500)
    const { inHand } = await simulateLeases(policy, { ...axis, arrivals })
    const largest = inHand.map(({ values }) => Math.max(...values))
    // A lease is at most share × limit ÷ instances; its first unit is spent at once.
    for (const units of largest) expect(units).toBeLessThan((0.05 * LIMIT) / 4)
    expect(Math.min(...largest)).toBeGreaterThan(3)
    for (const steps of inHand) expect(valueAt(steps, 9500 + 1001)).toBe(0)
  })

  it('count units in hand as used in the store', async () => {
    const run = await simulateLeases(policy, axis)
    const atMs = 4000
    const admitted = run.admittedMs.filter((at) => at <= atMs).length
    const inHand = run.inHand.reduce((sum, steps) => sum + valueAt(steps, atMs), 0)
    expect(inHand).toBeGreaterThan(0)
    if (policy.algorithm === 'token-bucket') return
    expect(policy.limit - valueAt(run.left, atMs)).toBe(admitted + inHand)
  })
})

it('without a lease, the same requests are admitted as by one process', async () => {
  const policy = fixedWindow({ limit: LIMIT, window: '10s', instances: 4 })
  const run = await simulateLeases(policy, axis)
  expect(run.admittedMs).toStrictEqual(simulate(policy, ORIGIN, ramp).admittedMs)
})

describe('mostAdmittedSoFar', () => {
  const times = [100, 9900, 10_100, 10_200, 19_000]
  it.each([
    ['counts windows of the clock for a fixed window', policies[0]![1], [1, 2, 2, 2, 3]],
    ['counts any window for a log', policies[1]![1], [1, 2, 2, 3, 4]],
    ['subtracts the refill for a bucket', tokenBucket({ capacity: 9, refillRate: '1/1s' }), [1, 1, 2, 3, 3]],
  ] as const)('%s', (_title, policy, expected) => {
    expect(mostAdmittedSoFar(policy, ORIGIN, times)).toStrictEqual(expected)
  })
})
