import { describe, expect, it } from 'vitest'
import { type Counters, quantile, since, sumCounters } from './counters.js'

const counters = (some: Partial<Counters> = {}): Counters => ({
  policies: {},
  times: [0, 0, 0],
  degraded: { open: 0, closed: 0, local: 0 },
  storeErrors: 0,
  breaker: 'closed',
  busiest: [],
  denied: [],
  ...some,
})

describe('a quantile', () => {
  const bounds = [1, 2, 4]
  it.each<[string, number, number[], number | undefined]>([
    ['is undefined without values', 0.5, [0, 0, 0, 0], undefined],
    ['is in the middle of a bucket with all values', 0.5, [0, 10, 0, 0], 1.5],
    ['is at a bound if exactly this share is below', 0.5, [5, 5, 0, 0], 1],
    ['begins at 0', 0.5, [10, 0, 0, 0], 0.5],
    ['is at most the last bound', 0.99, [0, 0, 0, 3], 4],
    ['is in the bucket with most values', 0.99, [1, 98, 1, 0], 2],
  ])('%s', (_title, share, counts, value) => {
    expect(quantile(share, bounds, counts)).toBe(value)
  })
})

describe('counters of several processes', () => {
  it('are added up, and the worst breaker is shown', () => {
    const a = counters({
      policies: { x: { allowed: 1, denied: 2 } },
      times: [1, 0, 0],
      busiest: [{ text: 'x k', count: 3, error: 1 }],
    })
    const b = counters({
      policies: { x: { allowed: 10, denied: 0 }, constructor: { allowed: 5, denied: 0 } },
      times: [0, 2, 0],
      breaker: 'open',
      busiest: [
        { text: 'x l', count: 9, error: 0 },
        { text: 'x k', count: 7, error: 0 },
      ],
    })
    const sum = sumCounters([a, b])
    expect(sum.policies.x).toStrictEqual({ allowed: 11, denied: 2 })
    expect(sum.policies.constructor).toStrictEqual({ allowed: 5, denied: 0 })
    expect(sum.times).toStrictEqual([1, 2, 0])
    expect(sum.breaker).toBe('open')
    expect(sum.busiest).toStrictEqual([
      { text: 'x k', count: 10, error: 1 },
      { text: 'x l', count: 9, error: 0 },
    ])
  })

  it('never decrease when a worker restarts', () => {
    const before = counters({ policies: { x: { allowed: 100, denied: 1 } }, times: [9, 0, 0] })
    const now = counters({ policies: { x: { allowed: 3, denied: 2 }, y: { allowed: 4, denied: 0 } } })
    const passed = since(before, now)
    expect(passed.policies).toStrictEqual({ x: { allowed: 0, denied: 1 }, y: { allowed: 4, denied: 0 } })
    expect(passed.times).toStrictEqual([0, 0, 0])
  })
})
