import { createSentinel } from 'redis'
import { expect, it } from 'vitest'
import { RedisStore } from '../redis-store.js'

it.each([
  ['a Sentinel client of node-redis', sentinel, /redis\+sentinel:\/\/host1,host2\/name/],
  ['nothing', () => undefined, /new RedisStore\("redis:\/\/localhost:6379"\)/],
  ['an object that is not a client', () => ({ get: () => {} }), /an ioredis client or a node-redis client/],
])('rejects %s when the store is created, and has advice', (_, client, message) => {
  expect(() => new RedisStore(client() as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringMatching(message) }),
  )
})

function sentinel() {
  return createSentinel({ name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
}
