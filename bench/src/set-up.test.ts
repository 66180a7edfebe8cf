import { expect, test } from 'vitest'
import { type ContenderName, makeContender, type Subject } from './core-contenders.js'
import { makeKeys, makeOrder } from './keys.js'
import { setUp } from './set-up.js'

const keys = makeKeys(50)
const order = makeOrder(50, 200)

test('an order has every key equally often, and is not in their order', () => {
  const counts = new Array<number>(50).fill(0)
  for (const index of order) counts[index]!++
  expect(new Set(counts)).toEqual(new Set([4]))
  expect([...order.subarray(0, 50)]).not.toEqual([...keys.keys()])
  expect([...makeOrder(50, 200)]).toEqual([...order])
})

test.each<ContenderName>([
  'token bucket',
  'leaky bucket',
  'RateLimiterMemory',
  'express MemoryStore',
  'bare Map',
])('%s sees the keys that were promised and counts every check', async (name) => {
  await expect(setUp(makeContender(name), keys, order)).resolves.toBeUndefined()
})

test.each<[string, Partial<Subject>, RegExp]>([
  ['asks for one key only', { size: () => 1 }, /50 keys were promised, the store holds 1/],
  ['refuses', { isAllowed: () => false }, /250 checks were asked, 0 were allowed/],
  ['counts too little', { used: () => 4 }, /"user:0" was asked 5 times, 4 were counted/],
])('a contender that %s is not timed', async (_, lie, message) => {
  await expect(setUp({ ...makeContender('bare Map'), ...lie }, keys, order)).rejects.toThrow(message)
})
