import { expect, it } from 'vitest'
import { fixedWindow } from '../policy/index.js'
import { EvictedKeys } from './evicted-keys.js'

const MAX_KEYS = 2 ** 15
const NOW = 1_800_000_000_000_000
const MINUTE = 60_000_000
const policy = fixedWindow({ limit: 10, window: '1m', name: 'api' })

function filled(keys: number): EvictedKeys {
  const evicted = new EvictedKeys(MAX_KEYS)
  for (let i = 0; i < keys; i++) evicted.add(policy, `denied:${i}`, NOW + MINUTE, NOW)
  return evicted
}

function countFalsePositives(evicted: EvictedKeys): number {
  let count = 0
  for (let i = 0; i < 10_000; i++) if (evicted.endOf(policy, `new:${i}`, NOW) > 0) count++
  return count
}

it('never releases a key early, even with five times as many keys as the store holds', () => {
  const evicted = filled(5 * MAX_KEYS)
  for (let i = 0; i < 5 * MAX_KEYS; i++) {
    if (evicted.endOf(policy, `denied:${i}`, NOW) !== NOW + MINUTE)
      throw new Error(`denied:${i} was released`)
  }
})

// docs/contributors/architecture.md states these rates. Each bound is at least four standard deviations above the expected count.
it.each([
  ['a tenth of maxKeys', MAX_KEYS / 10, 4],
  ['half of maxKeys', MAX_KEYS / 2, 50],
  ['maxKeys', MAX_KEYS, 310],
  ['twice maxKeys', 2 * MAX_KEYS, 1750],
])('denies few of 10,000 new keys while %s are denied', (_, keys, most) => {
  expect(countFalsePositives(filled(keys))).toBeLessThan(most)
})

it('releases all keys when their time is over', () => {
  const evicted = filled(1000)
  for (let i = 0; i < 1000; i++) expect(evicted.endOf(policy, `denied:${i}`, NOW + MINUTE)).toBe(0)
})

it('ignores an end that no state of the policy can have', () => {
  const evicted = new EvictedKeys(MAX_KEYS)
  const hour = fixedWindow({ limit: 10, window: '1h', name: policy.name })
  evicted.add(hour, 'k', NOW + 4 * MINUTE, NOW)
  expect(evicted.endOf(policy, 'k', NOW)).toBe(0)
})

it('denies a key with more debt for as long as a state without debt can last', () => {
  const evicted = new EvictedKeys(MAX_KEYS)
  evicted.add(policy, 'k', NOW + 4 * MINUTE, NOW)
  expect(evicted.endOf(policy, 'k', NOW)).toBe(NOW + 3 * MINUTE)
})
