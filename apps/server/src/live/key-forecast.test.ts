import {
  concurrency,
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { forecastKey } from './key-forecast.js'

describe('the forecast of a key', () => {
  it.each([
    fixedWindow({ limit: 10, window: '1m' }),
    slidingWindowLog({ limit: 10, window: '1m' }),
    slidingWindowCounter({ limit: 100, window: '1m' }),
    tokenBucket({ capacity: 100, refillRate: 2 }),
    leakyBucket({ capacity: 100, leakRate: 2 }),
  ])('equals the state of the key at that time: $algorithm', async (policy) => {
    const clock = new ManualClock()
    const store = new MemoryStore({ clock })
    const key = 'k'
    for (let i = 0; i < policy.limit * 0.8; i++) {
      store.check({ policy, key, cost: 1 })
      clock.advance(313)
    }
    const { decision, ahead } = await forecastKey(store, policy, key)
    expect(decision.remaining).toBe(store.peek({ policy, key, cost: 1 }).remaining)
    expect(ahead.length).toBeGreaterThan(0)
    expect(ahead.length).toBeLessThanOrEqual(16)
    expect(ahead.at(-1)!.remaining).toBe(policy.limit)
    let passedMs = 0
    for (const { afterMs, remaining } of ahead) {
      expect(afterMs).toBeGreaterThanOrEqual(passedMs)
      clock.advance(afterMs - passedMs)
      passedMs = afterMs
      expect(store.peek({ policy, key, cost: 1 }).remaining).toBeGreaterThanOrEqual(remaining)
    }
  })

  it('is unknown for requests in flight', async () => {
    const policy = concurrency({ limit: 10, name: 'in-flight' })
    const store = new MemoryStore()
    store.check({ policy, key: 'k', cost: 1 })
    const { decision, ahead } = await forecastKey(store, policy, 'k')
    expect(decision.remaining).toBe(9)
    expect(ahead).toStrictEqual([])
  })

  it('is empty for an untouched key', async () => {
    const policy = fixedWindow({ limit: 10, window: '1m' })
    const { decision, ahead } = await forecastKey(new MemoryStore(), policy, 'unused')
    expect(decision.remaining).toBe(10)
    expect(ahead).toStrictEqual([])
  })
})
