import { expect, test } from 'vitest'
import { makeKeys, makeOrder } from '../load/keys.js'
import { type ContenderName, makeContender, type Subject } from './core-contenders.js'
import { setUp } from './core-set-up.js'

const keys = makeKeys(50)
const order = makeOrder(50, 200)

test('an order has every key equally often, in random order', () => {
  const counts = new Array<number>(50).fill(0)
  for (const index of order) counts[index]!++
  expect(new Set(counts)).toEqual(new Set([4]))
  expect([...order.subarray(0, 50)]).not.toEqual([...keys.keys()])
  expect([...makeOrder(50, 200)]).toEqual([...order])
})

test.each<ContenderName>(['token bucket', 'leaky bucket', 'RateLimiterMemory', 'express MemoryStore', 'Map'])(
  '%s stores every key and counts every check',
  async (name) => {
    await expect(setUp(makeContender(name), keys, order)).resolves.toBeUndefined()
  },
)

test.each<[string, Partial<Subject>, RegExp]>([
  ['holds one key only', { size: () => 1 }, /50 keys expected, the store holds 1/],
  ['denies', { isAllowed: () => false }, /250 checks, 0 of them allowed/],
  ['counts too little', { used: () => 4 }, /"user:0" was checked 5 times, but 4 units were counted/],
])('rejects a contender that %s', async (_, lie, message) => {
  await expect(setUp({ ...makeContender('Map'), ...lie }, keys, order)).rejects.toThrow(message)
})
