import { deepStrictEqual } from 'node:assert'
import type { ManualClock, Store } from '@tidegate/core'
import { testStore } from '@tidegate/core/testing'
import { Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type RedisCluster, startCluster } from '../test/redis-cluster.js'
import { type RedisSentinels, startSentinels } from '../test/redis-sentinel.js'
import { type RedisServer, startRedis } from '../test/redis-server.js'
import { RedisStore, type RedisStoreOptions } from './redis-store.js'
import { TIME_DOOR } from './time-door.js'

// The whole conformance suite on everything that Redis can be and through every client it can be reached
// by. (One server by its URL is in redis-store.redis.test.ts.) Nothing is lost here on purpose, and no
// pause of a busy machine may look like a loss: the time-outs are long.

const PATIENCE_MS = 30_000

let number = 0

function optionsOf(clock: ManualClock): RedisStoreOptions {
  return { prefix: `test-${number++}`, [TIME_DOOR]: clock } as RedisStoreOptions
}

function conforms(open: (clock: ManualClock) => Store): void {
  testStore({ describe, it, deepEqual: deepStrictEqual, open })
}

describe('Sentinel, by its URL', () => {
  let sentinels: RedisSentinels
  beforeAll(async () => {
    sentinels = await startSentinels({ downAfterMs: PATIENCE_MS })
  })
  afterAll(() => sentinels?.stop())

  conforms((clock) => new RedisStore(sentinels.url, optionsOf(clock)))
})

describe('Cluster', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startCluster({ nodeTimeoutMs: PATIENCE_MS })
  })
  afterAll(() => cluster?.stop())

  describe('by its URL', () => {
    conforms((clock) => new RedisStore(cluster.url, optionsOf(clock)))
  })

  describe("by a user's own node-redis cluster client", () => {
    let client: ReturnType<typeof nodeRedisCluster>
    const nodeRedisCluster = () =>
      createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })), defaults: {} })
    beforeAll(async () => {
      client = nodeRedisCluster()
      client.on('error', () => {})
      await client.connect()
    })
    afterAll(() => client?.destroy())

    conforms((clock) => new RedisStore(client, optionsOf(clock)))
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
    beforeAll(() => {
      client = new Redis(server.url)
    })
    afterAll(() => client?.disconnect())

    conforms((clock) => new RedisStore(client, optionsOf(clock)))
  })

  describe("by a user's own node-redis client", () => {
    let client: ReturnType<typeof nodeRedis>
    const nodeRedis = () => createClient({ url: server.url })
    beforeAll(async () => {
      client = nodeRedis()
      client.on('error', () => {})
      await client.connect()
    })
    afterAll(() => client?.destroy())

    conforms((clock) => new RedisStore(client, optionsOf(clock)))
  })
})
