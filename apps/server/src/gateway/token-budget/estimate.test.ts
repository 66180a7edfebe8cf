import { describe, expect, it } from 'vitest'
import { type CostExpression, parseCost } from './cost-expression.js'
import { estimateCost } from './estimate.js'

const TOKENS = (parseCost('input + output') as CostExpression).costOf
const MONEY = (parseCost('input*3 + output*15') as CostExpression).costOf

describe('estimateCost', () => {
  it.each([
    // declared, p95, limit, expected
    [500, 200, 100_000, 1200],
    [100, 200, 100_000, 1100],
    [undefined, 200, 100_000, 1200],
    [500, undefined, 100_000, 1500],
    [64_000, undefined, 100_000, 26_000],
    [undefined, undefined, 100_000, 26_000],
    [0, undefined, 100_000, 1000],
    // A known output is not cut: its limit would not hold.
    [64_000, 40_000, 100_000, 41_000],
    // One key with long outputs must not deny all requests of the others.
    [undefined, 40_000, 100_000, 26_000],
  ])(
    '1,000 input tokens, at most %s declared, usually %s, limit %d: %d units',
    (declared, p95, limit, units) => {
      const request = { inputTokens: 1000, maxOutputTokens: declared, model: 'm' }
      expect(estimateCost(TOKENS, request, p95, limit)).toBe(units)
    },
  )

  it('applies the cost expression, and bounds unknown output in units', () => {
    const request = { inputTokens: 1000, maxOutputTokens: 10_000, model: 'm' }
    expect(estimateCost(MONEY, request, 100, 1_000_000)).toBe(4500)
    expect(estimateCost(MONEY, request, undefined, 1_000_000)).toBe(153_000)
    expect(estimateCost(MONEY, request, undefined, 100_000)).toBe(28_000)
  })

  it('is at least one unit', () => {
    const nothing = { inputTokens: 0, maxOutputTokens: 0, model: '' }
    expect(estimateCost(TOKENS, nothing, undefined, 100)).toBe(1)
    expect(estimateCost(TOKENS, nothing, 0, 100)).toBe(1)
    expect(estimateCost(TOKENS, { ...nothing, maxOutputTokens: undefined }, 0, 100)).toBe(1)
  })

  it('bounds a declared maximum above the safe integers', () => {
    const request = { inputTokens: 10, maxOutputTokens: 1e300, model: 'm' }
    expect(estimateCost(TOKENS, request, undefined, 1000)).toBe(260)
    expect(estimateCost(TOKENS, request, 7, 1000)).toBe(17)
  })
})
