import { expect, it } from 'vitest'
import { fixedWindow } from '../policy.js'
import { BlockedKeys } from './blocked-keys.js'

const MAX_KEYS = 2 ** 15
const NOW = 1_800_000_000_000_000
const MINUTE = 60_000_000
const policy = fixedWindow({ limit: 10, window: '1m', name: 'api' })

function filled(keys: number): BlockedKeys {
  const blocked = new BlockedKeys(MAX_KEYS)
  for (let i = 0; i < keys; i++) blocked.add(policy.name, `blocked:${i}`, NOW + MINUTE)
  return blocked
}

function countFalsePositives(blocked: BlockedKeys): number {
  let count = 0
  for (let i = 0; i < 10_000; i++) if (blocked.endOf(policy, `new:${i}`, NOW) > 0) count++
  return count
}

it('never releases a key early, even with five times as many keys as the store holds', () => {
  const blocked = filled(5 * MAX_KEYS)
  for (let i = 0; i < 5 * MAX_KEYS; i++) {
    if (blocked.endOf(policy, `blocked:${i}`, NOW) !== NOW + MINUTE) throw new Error(`released blocked:${i}`)
  }
})

// docs/architecture.md states these rates. Each bound is at least four standard deviations above the expected count.
it.each([
  ['a tenth of maxKeys', MAX_KEYS / 10, 4],
  ['half of maxKeys', MAX_KEYS / 2, 50],
  ['maxKeys', MAX_KEYS, 310],
  ['twice maxKeys', 2 * MAX_KEYS, 1750],
])('blocks few of 10,000 new keys while %s are blocked', (_, keys, most) => {
  expect(countFalsePositives(filled(keys))).toBeLessThan(most)
})

it('releases all keys when their time is over', () => {
  const blocked = filled(1000)
  for (let i = 0; i < 1000; i++) expect(blocked.endOf(policy, `blocked:${i}`, NOW + MINUTE)).toBe(0)
})

it('ignores an end that no state of the policy can have', () => {
  const blocked = new BlockedKeys(MAX_KEYS)
  blocked.add(policy.name, 'k', NOW + 4 * MINUTE)
  expect(blocked.endOf(policy, 'k', NOW)).toBe(0)
})
