import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { mulDivCeil, mulDivFloor } from './exact.js'

const whole = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  fc.maxSafeNat(),
  fc.integer({ min: 0, max: 60 }).map((bits) => Math.min(2 ** bits, Number.MAX_SAFE_INTEGER)),
)

describe('a × b ÷ c', () => {
  it('is exact wherever the result is below 2^53', () => {
    const cases = fc.tuple(whole, whole, whole).filter(([a, b, c]) => {
      return c > 0 && (BigInt(a) * BigInt(b)) / BigInt(c) < BigInt(Number.MAX_SAFE_INTEGER)
    })
    holds(
      'exact',
      cases,
      ([a, b, c]) => {
        const product = BigInt(a) * BigInt(b)
        const floor = product / BigInt(c)
        const ceil = (product + BigInt(c) - 1n) / BigInt(c)
        expect([BigInt(mulDivFloor(a, b, c)), BigInt(mulDivCeil(a, b, c))]).toStrictEqual([floor, ceil])
      },
      { runs: 5000 },
    )
  })

  it.each([
    // 104,250 a day is the smallest quota whose product with its window passes 2^53
    [104_250, 86_400_000_000 - 1, 86_400_000_000],
    [1_000_000_000, 366 * 86_400_000_000 - 1, 366 * 86_400_000_000],
    // divisors that are too large for base 64
    [2 ** 53 - 1, 2 ** 53 - 1, 2 ** 53 - 1],
    [2 ** 53 - 2, 2 ** 53 - 3, 2 ** 53 - 1],
    [2 ** 46, 2 ** 46 - 1, 2 ** 46],
    // divisors for which base 64 would give a wrong result
    [100_185_344_869_045, 100_185_344_868_961, 100_185_344_869_712],
    [3 * 2 ** 46 - 1, 3 * 2 ** 46 - 2, 3 * 2 ** 46 + 1],
    [2 ** 48 - 1, 2 ** 48 - 2, 2 ** 48 + 1],
    [2 ** 49 - 1, 2 ** 49 - 2, 2 ** 49 + 1],
  ])('floor and ceil of %d × %d ÷ %d', (a, b, c) => {
    const product = BigInt(a) * BigInt(b)
    expect(BigInt(mulDivFloor(a, b, c))).toBe(product / BigInt(c))
    expect(BigInt(mulDivCeil(a, b, c))).toBe((product + BigInt(c) - 1n) / BigInt(c))
  })
})
