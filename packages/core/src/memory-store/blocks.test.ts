import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { ALGORITHM_NAMES, definePolicy, fixedWindow, tokenBucket } from '../policy/index.js'
import { randomTrace } from '../testing/index.js'
import { createBlocks } from './blocks.js'
import { MemoryStore } from './memory-store.js'

const START_MS = 1_800_000_000_000
const minute = fixedWindow({ limit: 10, window: '1m', name: 'minute' })

function storeOf(maxKeys: number) {
  const clock = new ManualClock(START_MS)
  return { clock, store: new MemoryStore({ clock, maxKeys }) }
}

describe('the number of blocks', () => {
  it('is bounded by dropping the oldest blocks', () => {
    const blocks = createBlocks(100)
    for (let i = 0; i < 1000; i++) blocks.add('minute', `k${i}`, 1000, 0)
    const left = Array.from({ length: 1000 }, (_, i) => blocks.leftOf('minute', `k${i}`, 0, true))
    expect(left.filter((us) => us > 0).length).toBeLessThanOrEqual(100)
    expect(left.slice(-50)).toStrictEqual(Array(50).fill(1000))
  })

  it('falls when new blocks are added after old ones have ended, without a timer', () => {
    const blocks = createBlocks(1000)
    for (let i = 0; i < 100; i++) blocks.add('minute', `old${i}`, 1000, 0)
    for (let i = 0; i < 50; i++) blocks.add('minute', `new${i}`, 1000, 1000)
    for (let i = 0; i < 50; i++) expect(blocks.leftOf('minute', `new${i}`, 1999, false)).toBe(1)
    for (let i = 0; i < 50; i++) expect(blocks.leftOf('minute', `new${i}`, 2000, false)).toBe(0)
    expect(blocks.isEmpty()).toBe(true)
  })

  it('does not count towards the keys of the store', () => {
    const { store } = storeOf(10)
    for (let i = 0; i < 100; i++) store.block({ policy: minute, key: `k${i}`, durationMs: 1000 })
    expect(store.size).toBe(0)
    store.check({ policy: minute, key: 'k99', cost: 1 })
    store.check({ policy: minute, key: 'free', cost: 1 })
    expect(store.size).toBe(1)
  })
})

it('a blocked key stays blocked while a flood of other keys evicts its count', () => {
  const { store } = storeOf(100)
  store.check({ policy: minute, key: 'mallory', cost: 1 })
  store.block({ policy: minute, key: 'mallory', durationMs: 60_000 })
  for (let i = 0; i < 1000; i++) store.check({ policy: minute, key: `flood${i}`, cost: 10 })
  expect(store.check({ policy: minute, key: 'mallory', cost: 1 })).toMatchObject({
    allowed: false,
    reason: 'blocked',
  })
})

it('a charge of an evicted key that stays denied does not give it a new quota', () => {
  const { store } = storeOf(100)
  const bucket = tokenBucket({ capacity: 10, refillRate: '10/1m', name: 'bucket' })
  for (const policy of [minute, bucket]) {
    store.check({ policy, key: 'mallory', cost: 10 })
    for (let i = 0; i < 1000; i++) store.check({ policy, key: `flood${i}`, cost: 10 })
    expect(store.charge({ policy, key: 'mallory', cost: 1 })).toMatchObject({ remaining: 0, overBy: 1 })
    expect(store.check({ policy, key: 'mallory', cost: 1 }).allowed).toBe(false)
  }
})

it('an evicted key with debt stays denied', () => {
  const { store, clock } = storeOf(100)
  const bucket = tokenBucket({ capacity: 10, refillRate: '10/1m', name: 'bucket' })
  store.charge({ policy: bucket, key: 'mallory', cost: 1000 })
  for (let i = 0; i < 1000; i++) store.check({ policy: bucket, key: `flood${i}`, cost: 10 })
  clock.advance(60_000)
  expect(store.check({ policy: bucket, key: 'mallory', cost: 1 }).allowed).toBe(false)
})

it('blockFor of one minute on 1,000 a day admits 1,000 a day', () => {
  const { store, clock } = storeOf(100)
  const policy = fixedWindow({ limit: 1000, window: '1d', blockFor: '1m', name: 'daily' })
  clock.set(Math.floor(START_MS / 86_400_000) * 86_400_000)
  for (let day = 0; day < 3; day++) {
    let admitted = 0
    for (let second = 0; second < 86_400; second += 20) {
      if (store.check({ policy, key: 'k', cost: 1 }).allowed) admitted++
      clock.advance(20_000)
    }
    expect(admitted).toBe(1000)
  }
})

describe('a block never yields additional units', () => {
  /** Repeats every admitted check on a store without blocks, which must admit it too. */
  it.each(ALGORITHM_NAMES)('%s', (algorithm) => {
    holds(`blocks-${algorithm}`, fc.integer({ min: 0, max: 2 ** 31 }), (seed) => {
      const { steps } = randomTrace(seed, algorithm, { length: 120, operations: ['charge', 'block'] })
      const { blockFor, countDenied: _, ...numbers } = { blockFor: 0, ...steps[0]!.policy }
      const free = definePolicy({ ...numbers, ...windowInUnits(numbers) })
      const policy = definePolicy({
        ...free,
        ...windowInUnits(free),
        ...(blockFor > 0 && { blockFor: `${blockFor}ms` }),
      })
      const clock = new ManualClock(START_MS)
      const [blocking, reference] = [new MemoryStore({ clock }), new MemoryStore({ clock })]
      const taken: (Decision | undefined)[] = []
      for (const [i, step] of steps.entries()) {
        clock.set(step.timeMs)
        const { key } = step
        if (step.do === 'block') blocking.block({ policy, key, durationMs: step.durationMs })
        if (step.do === 'charge') {
          taken[i] = blocking.charge({ policy, key, cost: step.cost })
          reference.charge({ policy: free, key, cost: step.cost })
        }
        if (step.do === 'check') {
          const decision = blocking.check({ policy, key, cost: step.cost })
          if (!decision.allowed) continue
          taken[i] = decision
          expect(reference.check({ policy: free, key, cost: step.cost })).toStrictEqual(decision)
        }
        const decision = step.do === 'refund' ? taken[step.ofStep] : undefined
        if (decision !== undefined) {
          const refund = { key, timeMs: decision.timeMs, cost: decision.cost }
          expect(blocking.refund({ policy, ...refund })).toBe(reference.refund({ policy: free, ...refund }))
          taken[(step as { ofStep: number }).ofStep] = undefined
        }
      }
    })
  })

  /** With a unit: a number of milliseconds can look like seconds. */
  function windowInUnits(numbers: object): { window?: string } {
    const { window } = numbers as { window?: number | string }
    return typeof window === 'number' ? { window: `${window}ms` } : {}
  }
})
