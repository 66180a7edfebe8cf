import { once } from 'node:events'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { conforms } from './conformance.js'
import { type RedisCluster, startCluster } from './redis-cluster.js'
import { type RedisSentinels, startSentinels } from './redis-sentinel.js'

// The whole conformance suite on every topology of Redis and with every supported client; one server by its URL is in
// redis-store.redis.test.ts. Timeouts are long, so that a pause of a busy machine does not look like a lost server.

const TIMEOUT_MS = 30_000

describe('Sentinel, by its URL', () => {
  let sentinels: RedisSentinels
  beforeAll(async () => {
    sentinels = await startSentinels({ downAfterMs: TIMEOUT_MS })
  })
  afterAll(() => sentinels?.stop())

  conforms((options) => new RedisStore(sentinels.url, options))
})

describe('Cluster', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startCluster({ nodeTimeoutMs: TIMEOUT_MS })
  })
  afterAll(() => cluster?.stop())

  describe('by its URL', () => {
    conforms((options) => new RedisStore(cluster.url, options))
  })

  describe("by a user's own node-redis cluster client", () => {
    let client: ReturnType<typeof nodeRedisCluster>
    const nodeRedisCluster = () =>
      createCluster({
        rootNodes: cluster.nodes.map(({ url }) => ({ url })),
        defaults: { disableOfflineQueue: true },
      })
    beforeAll(async () => {
      client = nodeRedisCluster()
      client.on('error', () => {})
      await client.connect()
    })
    afterAll(() => client?.destroy())

    conforms((options) => new RedisStore(client, options))
  })
})

describe('one server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.stop())

  describe("by a user's own ioredis client", () => {
    let client: Redis
    beforeAll(async () => {
      client = new Redis(server.url, {
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
      })
      await once(client, 'ready')
    })
    afterAll(() => client?.disconnect())

    conforms((options) => new RedisStore(client, options))
  })

  describe("by a user's own node-redis client", () => {
    let client: ReturnType<typeof nodeRedis>
    const nodeRedis = () => createClient({ url: server.url, disableOfflineQueue: true })
    beforeAll(async () => {
      client = nodeRedis()
      client.on('error', () => {})
      await client.connect()
    })
    afterAll(() => client?.destroy())

    conforms((options) => new RedisStore(client, options))
  })
})
