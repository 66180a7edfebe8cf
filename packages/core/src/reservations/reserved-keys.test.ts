import { expect, it } from 'vitest'
import { ReservedKeys } from './reserved-keys.js'

const MINUTE_US = 60_000_000

it('removes keys without open reservations and remembered ids, without a timer', () => {
  const keys = new ReservedKeys(1000)
  for (let i = 0; i < 100; i++) keys.obtain('policy', `k${i}`, 0).ended.add('id', 0)
  expect(keys.size).toBe(100)
  for (let i = 0; i < 100; i++) keys.obtain('policy', 'other', MINUTE_US)
  expect(keys.size).toBeLessThanOrEqual(2)
})

it('keeps at most maxKeys keys, and drops the oldest', () => {
  const keys = new ReservedKeys(3)
  const mark = (key: string) => keys.obtain('policy', key, 0).ended.add('id', 0)
  for (const key of ['a', 'b', 'c', 'd']) mark(key)
  expect(keys.size).toBe(3)
  expect(['d', 'c', 'b'].map((key) => keys.obtain('policy', key, 0).ended.has('id', 0))).toStrictEqual([
    true,
    true,
    true,
  ])
  expect(keys.obtain('policy', 'a', 0).ended.has('id', 0)).toBe(false)
})

it('a policy name and a key have reservations of their own', () => {
  const keys = new ReservedKeys(10)
  keys.obtain('one', 'k', 0).ended.add('id', 0)
  expect(keys.obtain('two', 'k', 0).ended.has('id', 0)).toBe(false)
  keys.remove('one', 'k')
  expect(keys.obtain('one', 'k', 0).ended.has('id', 0)).toBe(false)
})
