import { describe, expect, it } from 'vitest'
import { createOutputHistory, type OutputHistory } from './output-history.js'

/** As many outputs as a p95 needs. */
function addOften(history: OutputHistory, policy: string, model: string, tokens: number): void {
  for (let n = 0; n < 100; n++) history.add(policy, model, tokens)
}

describe('createOutputHistory', () => {
  it('is undefined for a model without outputs', () => {
    const history = createOutputHistory()
    addOften(history, 'tokens', 'gpt-5', 10)
    expect(history.p95('tokens', 'gpt-5-mini')).toBeUndefined()
    expect(history.p95('money', 'gpt-5')).toBeUndefined()
    expect(history.p95('tokens', 'gpt-5')).toBe(10)
  })

  it('returns the 95th percentile', () => {
    const history = createOutputHistory()
    for (let n = 100; n >= 1; n--) history.add('tokens', 'gpt-5', n)
    expect(history.p95('tokens', 'gpt-5')).toBe(95)
  })

  it('is undefined for fewer than 20 outputs', () => {
    const history = createOutputHistory()
    for (let n = 0; n < 19; n++) history.add('tokens', 'gpt-5', 1)
    expect(history.p95('tokens', 'gpt-5')).toBeUndefined()
    history.add('tokens', 'gpt-5', 1)
    expect(history.p95('tokens', 'gpt-5')).toBe(1)
  })

  it('counts an output that was cut off only above the p95', () => {
    const history = createOutputHistory()
    for (let n = 0; n < 200; n++) history.add('tokens', 'gpt-5', 1, true)
    expect(history.p95('tokens', 'gpt-5')).toBeUndefined()
    for (let n = 0; n < 100; n++) history.add('tokens', 'gpt-5', 50)
    for (let n = 0; n < 2000; n++) history.add('tokens', 'gpt-5', 1, true)
    expect(history.p95('tokens', 'gpt-5')).toBe(50)
    for (let n = 0; n < 6; n++) history.add('tokens', 'gpt-5', 4000, true)
    expect(history.p95('tokens', 'gpt-5')).toBe(4000)
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
    addOften(history, 'tokens', 'old', 1)
    addOften(history, 'tokens', 'used', 2)
    for (let n = 0; n < 198; n++) history.add('tokens', `model-${n}`, 3)
    history.add('tokens', 'used', 2)
    addOften(history, 'tokens', 'new', 4)
    expect(history.p95('tokens', 'old')).toBeUndefined()
    expect(history.p95('tokens', 'used')).toBe(2)
    expect(history.p95('tokens', 'new')).toBe(4)
  })
})
