import { describe, expect, it } from 'vitest'
import { createOutputHistory } from './output-history.js'

describe('createOutputHistory', () => {
  it('is undefined for a model without outputs', () => {
    const history = createOutputHistory()
    history.add('tokens', 'gpt-5', 10)
    expect(history.p95('tokens', 'gpt-5-mini')).toBeUndefined()
    expect(history.p95('money', 'gpt-5')).toBeUndefined()
    expect(history.p95('tokens', 'gpt-5')).toBe(10)
  })

  it('returns the 95th percentile', () => {
    const history = createOutputHistory()
    for (let n = 100; n >= 1; n--) history.add('tokens', 'gpt-5', n)
    expect(history.p95('tokens', 'gpt-5')).toBe(95)
  })

  it('returns the largest of a few outputs', () => {
    const history = createOutputHistory()
    for (const tokens of [7, 900, 20]) history.add('tokens', 'gpt-5', tokens)
    expect(history.p95('tokens', 'gpt-5')).toBe(900)
  })

  it('keeps only the last 1,000 outputs', () => {
    const history = createOutputHistory()
    for (let n = 0; n < 1000; n++) history.add('tokens', 'gpt-5', 5000)
    for (let n = 0; n < 949; n++) history.add('tokens', 'gpt-5', 10)
    expect(history.p95('tokens', 'gpt-5')).toBe(5000)
    history.add('tokens', 'gpt-5', 10)
    expect(history.p95('tokens', 'gpt-5')).toBe(10)
  })

  it('equals the percentile of the sorted last 1,000 outputs', () => {
    const history = createOutputHistory()
    const all: number[] = []
    let seed = 7
    for (let n = 0; n < 3000; n++) {
      seed = (seed * 16_807) % 2_147_483_647
      all.push(seed % 300)
      history.add('tokens', 'gpt-5', seed % 300)
    }
    const sorted = all.slice(-1000).sort((a, b) => a - b)
    expect(history.p95('tokens', 'gpt-5')).toBe(sorted[949])
  })

  it('keeps the 200 most recently used models', () => {
    const history = createOutputHistory()
    history.add('tokens', 'old', 1)
    history.add('tokens', 'used', 2)
    for (let n = 0; n < 198; n++) history.add('tokens', `model-${n}`, 3)
    history.add('tokens', 'used', 2)
    history.add('tokens', 'new', 4)
    expect(history.p95('tokens', 'old')).toBeUndefined()
    expect(history.p95('tokens', 'used')).toBe(2)
    expect(history.p95('tokens', 'new')).toBe(4)
  })
})
