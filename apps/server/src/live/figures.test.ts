import { describe, expect, it } from 'vitest'
import { type Figures, quantile, since, sumOf } from './figures.js'

const figures = (some: Partial<Figures> = {}): Figures => ({
  policies: {},
  times: [0, 0, 0],
  degraded: { open: 0, closed: 0, local: 0 },
  storeErrors: 0,
  breaker: 'closed',
  busiest: [],
  refused: [],
  ...some,
})

describe('a quantile', () => {
  const bounds = [1, 2, 4]
  it.each<[string, number, number[], number | undefined]>([
    ['of nothing is nothing', 0.5, [0, 0, 0, 0], undefined],
    ['lies in the middle of where all are', 0.5, [0, 10, 0, 0], 1.5],
    ['is at a bound if just so many are below', 0.5, [5, 5, 0, 0], 1],
    ['begins at 0', 0.5, [10, 0, 0, 0], 0.5],
    ['is no more than the last bound', 0.99, [0, 0, 0, 3], 4],
    ['is in the part where most are', 0.99, [1, 98, 1, 0], 2],
  ])('%s', (_title, share, counts, value) => {
    expect(quantile(share, bounds, counts)).toBe(value)
  })
})

describe('figures of several processes', () => {
  it('are added up, and the worst breaker is shown', () => {
    const a = figures({
      policies: { x: { allowed: 1, refused: 2 } },
      times: [1, 0, 0],
      busiest: [{ text: 'x k', count: 3, error: 1 }],
    })
    const b = figures({
      policies: { x: { allowed: 10, refused: 0 }, constructor: { allowed: 5, refused: 0 } },
      times: [0, 2, 0],
      breaker: 'open',
      busiest: [
        { text: 'x l', count: 9, error: 0 },
        { text: 'x k', count: 7, error: 0 },
      ],
    })
    const sum = sumOf([a, b])
    expect(sum.policies.x).toStrictEqual({ allowed: 11, refused: 2 })
    expect(sum.policies.constructor).toStrictEqual({ allowed: 5, refused: 0 })
    expect(sum.times).toStrictEqual([1, 2, 0])
    expect(sum.breaker).toBe('open')
    expect(sum.busiest).toStrictEqual([
      { text: 'x k', count: 10, error: 1 },
      { text: 'x l', count: 9, error: 0 },
    ])
  })

  it('of one that has begun anew are nothing, not less than nothing', () => {
    const before = figures({ policies: { x: { allowed: 100, refused: 1 } }, times: [9, 0, 0] })
    const now = figures({ policies: { x: { allowed: 3, refused: 2 }, y: { allowed: 4, refused: 0 } } })
    const passed = since(before, now)
    expect(passed.policies).toStrictEqual({ x: { allowed: 0, refused: 1 }, y: { allowed: 4, refused: 0 } })
    expect(passed.times).toStrictEqual([0, 0, 0])
  })
})
