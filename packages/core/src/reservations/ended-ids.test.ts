import { expect, it } from 'vitest'
import { EndedIds } from './ended-ids.js'

const MINUTE_US = 60_000_000

it('remembers an id for 60 s', () => {
  const ended = new EndedIds()
  ended.add('a', 1000)
  expect([ended.has('a', 1000), ended.has('b', 1000)]).toStrictEqual([true, false])
  expect(ended.has('a', 1000 + MINUTE_US - 1)).toBe(true)
  expect(ended.has('a', 1000 + MINUTE_US)).toBe(false)
})

it('drops expired ids, also after the clock has stepped back', () => {
  const ended = new EndedIds()
  ended.add('late', 5 * MINUTE_US)
  ended.add('early', MINUTE_US)
  ended.drop(3 * MINUTE_US)
  expect([ended.size, ended.has('late', 3 * MINUTE_US)]).toStrictEqual([1, true])
  ended.drop(6 * MINUTE_US)
  expect(ended.size).toBe(0)
})

it('keeps the newest 10,000', () => {
  const ended = new EndedIds()
  for (let i = 0; i < 10_002; i++) ended.add(`id-${i}`, 1000 + i)
  expect(ended.size).toBe(10_000)
  expect(['id-0', 'id-1', 'id-2', 'id-10001'].map((id) => ended.has(id, 20_000))).toStrictEqual([
    false,
    false,
    true,
    true,
  ])
})

it('an id that ends again is remembered from then on', () => {
  const ended = new EndedIds()
  ended.add('a', 1000)
  ended.add('b', 1000)
  ended.add('a', MINUTE_US)
  ended.drop(1000 + MINUTE_US)
  expect([ended.has('a', 1000 + MINUTE_US), ended.size]).toStrictEqual([true, 1])
})
