import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import { shareOf } from './share.js'

describe('the share of one process in a limit', () => {
  it('is the whole limit for one instance', () => {
    const policy = tokenBucket({ capacity: 10, refillRate: 1 })
    expect(shareOf(policy)).toBe(policy)
  })

  it.each([
    [fixedWindow, 100, 3, 33],
    [slidingWindowLog, 100, 4, 25],
    [slidingWindowCounter, 100, 100, 1],
    [fixedWindow, 5, 100, 1],
    [fixedWindow, 5, Number.MAX_SAFE_INTEGER, 1],
  ])('%o with limit %d and %d instances: %d in the same window', (make, limit, instances, expected) => {
    const policy = make({ limit, window: '1m', name: 'shared', instances })
    expect(shareOf(policy)).toMatchObject({
      algorithm: policy.algorithm,
      name: 'shared',
      limit: expected,
      window: 60_000,
    })
  })

  it.each([
    ['a third of a rate, exactly', 10, 1, 3, 3, [1, 3_000_000]],
    ['a rate in text form', 100, '100/1m', 4, 25, [1, 2_400_000]],
    ['a rate with decimals', 1000, 166.67, 10, 100, [16667, 1_000_000_000]],
    ['a capacity below the number of instances', 2, 10, 5, 1, [1, 500_000]],
    [
      'a rate above one unit per microsecond, rounded down to whole units per second',
      90,
      1e7,
      3,
      30,
      [3333333, 1e6],
    ],
    ['a rate above all practical bounds', 10, Number.MAX_SAFE_INTEGER, 5, 2, [2, 1]],
  ] as const)('divides %s', (_, capacity, rate, instances, expectedCapacity, [n, d]) => {
    for (const policy of [
      tokenBucket({ capacity, refillRate: rate, instances }),
      leakyBucket({ capacity, leakRate: rate, instances }),
    ]) {
      expect(shareOf(policy)).toMatchObject({ algorithm: policy.algorithm, capacity: expectedCapacity })
      const { n: shareN, d: shareD } = shareOf(policy) as Policy & { n: number; d: number }
      expect([shareN, shareD]).toStrictEqual([n, d])
    }
  })

  it('is computed once per policy', () => {
    const policy = fixedWindow({ limit: 10, window: '1m', instances: 2 })
    expect(shareOf(policy)).toBe(shareOf(policy))
  })

  const anyRate = fc.oneof(
    fc.double({ min: 1e-6, max: 9e15, noNaN: true }),
    fc.integer({ min: 1, max: 10_000 }),
    fc
      .tuple(fc.integer({ min: 1, max: 999_999_999_999 }), fc.integer({ min: 1, max: 86_400_000 }))
      .map(([units, ms]) => `${units}/${ms}ms` as const),
  )
  const anyInstances = fc.oneof(
    fc.integer({ min: 2, max: 1000 }),
    fc.integer({ min: 2, max: Number.MAX_SAFE_INTEGER }),
  )

  it('exists for every valid policy, and the sum of all shares is at most the limit', () => {
    const values = fc.record({
      capacity: fc.integer({ min: 1, max: 1e9 }),
      rate: anyRate,
      instances: anyInstances,
    })
    holds('share', values, ({ capacity, rate, instances }) => {
      let policy: Policy & { n: number; d: number }
      try {
        policy = tokenBucket({ capacity, refillRate: rate, instances })
      } catch {
        return
      }
      const share = shareOf(policy) as typeof policy
      expect(share.limit * instances <= capacity || share.limit === 1).toBe(true)
      const perYear = (share.n / share.d) * 366 * 86_400_000_000
      const together = (share.n / share.d) * instances
      // The slowest rate is one unit per longest window, so slower shares are rounded up.
      if (perYear > 1.5) expect(together / (policy.n / policy.d)).toBeLessThan(1 + 1e-6)
    })
  })
})
