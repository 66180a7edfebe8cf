import { describe, expect, it } from 'vitest'
import { fixedWindow, slidingWindowCounter, slidingWindowLog, tokenBucket } from '../policy/index.js'
import { type Admission, findOverAdmission } from './history.js'

const at = (startMs: number, endMs = startMs, cost = 1): Admission => ({ startMs, endMs, cost })
const numbers = { limit: 2, window: '1s' } as const

describe('detects an over-admission', () => {
  it.each([
    ['a third in one window', fixedWindow(numbers), [at(1000), at(1500), at(1999)]],
    ['a third within a window', slidingWindowLog(numbers), [at(500), at(900), at(1499)]],
    ['two after a full window', slidingWindowCounter(numbers), [at(900), at(901), at(1100), at(1101)]],
    ['more than the capacity at once', tokenBucket({ capacity: 2, refillRate: 1 }), [at(0), at(1), at(2)]],
    ['one too large', fixedWindow(numbers), [at(1000, 1000, 3)]],
  ])('%s', (_, policy, history) => {
    expect(findOverAdmission(policy, history)).toBeDefined()
  })
})

describe('accepts a valid history', () => {
  it.each([
    ['a check across the end of a window', fixedWindow(numbers), [at(1000), at(1500), at(1999, 2000)]],
    ['a check that may have been later', slidingWindowLog(numbers), [at(500), at(900), at(1499, 1500)]],
    ['half of the window before', slidingWindowCounter(numbers), [at(900), at(901), at(1501)]],
    ['a token that has been refilled', tokenBucket({ capacity: 2, refillRate: 1 }), [at(0), at(1), at(1000)]],
  ])('%s', (_, policy, history) => {
    expect(findOverAdmission(policy, history)).toBeUndefined()
  })
})
