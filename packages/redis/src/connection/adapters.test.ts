import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { expect, it } from 'vitest'
import { RedisStore } from '../redis-store.js'

const sendCommand = async (..._: string[]) => 'OK'

it.each([
  [
    'the options of rate-limit-redis',
    () => ({ prefix: 'login:', sendCommand }),
    /got an object with prefix, sendCommand, as for rate-limit-redis\. Pass the client itself: new RedisStore\(client, \{ prefix: "login:" \}\)\.$/,
  ],
  [
    'the options of rate-limit-redis without a prefix',
    () => ({ sendCommand }),
    /Pass the client itself: new RedisStore\(client\)\.$/,
  ],
  [
    'the options of rate-limit-redis for a cluster',
    () => ({ sendCommandCluster: sendCommand }),
    /got an object with sendCommandCluster, as for rate-limit-redis/,
  ],
  [
    'options with a password',
    () => ({ host: 'a', password: 'secret' }),
    /got an object with host, password\. Write for example/,
  ],
  ['a Sentinel client of node-redis', sentinel, /redis\+sentinel:\/\/host1,host2\/name/],
  [
    'a client of node-redis with callbacks',
    () => createClient().legacy(),
    /got an object with ACL_CAT, (\w+, ){9}…\. Write for example new RedisStore\("redis:\/\/localhost:6379"\)\.$/,
  ],
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

it.each([
  ['a client of node-redis', () => createClient()],
  ['a pool of node-redis', () => createClientPool()],
  ['a cluster of node-redis', () => createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] })],
])('accepts %s', async (_, client) => {
  await new RedisStore(client() as never).close()
})
