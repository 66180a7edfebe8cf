import { createSentinel } from 'redis'
import { expect, it } from 'vitest'
import { RedisStore } from './redis-store.js'

it.each([
  ['a Sentinel client of node-redis', sentinel, /redis\+sentinel:\/\/host1,host2\/name/],
  ['nothing', () => undefined, /a URL such as "redis:\/\/localhost:6379"/],
  ['what is no client', () => ({ get: () => {} }), /an ioredis or node-redis client/],
])('refuses %s when the store is made, and says what to hand in', (_, client, message) => {
  expect(() => new RedisStore(client() as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringMatching(message) }),
  )
})

function sentinel() {
  return createSentinel({ name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
}
