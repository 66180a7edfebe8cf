import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { clientOf } from '../test/redis-clients.js'
import { type RedisCluster, startCluster } from '../test/redis-cluster.js'
import { type RedisSentinels, startSentinels } from '../test/redis-sentinel.js'
import { instancesOf } from './instances.js'
import { RedisStore } from './redis-store.js'

const KEY = 'rate_limiter:instances'

describe('the instances that share a Redis', () => {
  let server: RedisServer
  let admin: Redis
  const stores: RedisStore[] = []
  function open(url = server.url): ReturnType<typeof instancesOf> {
    const store = new RedisStore(url, { connectTimeoutMs: 10_000 })
    stores.push(store)
    return instancesOf(store)
  }
  beforeAll(async () => {
    server = await startRedis()
    admin = clientOf(server)
  })
  beforeEach(() => admin.flushall())
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())))
  afterAll(async () => {
    admin?.disconnect()
    await server?.stop()
  })

  it('list each other while they report', async () => {
    const [a, b] = [open(), open()]
    await ready(a)
    expect(await a.report('a')).toStrictEqual(['a'])
    await ready(b)
    expect((await b.report('b')).toSorted()).toStrictEqual(['a', 'b'])
    expect((await a.report('a')).toSorted()).toStrictEqual(['a', 'b'])
    await b.leave('b')
    expect(await a.report('a')).toStrictEqual(['a'])
  })

  it('disappear when they stop reporting, and the key expires', async () => {
    const a = open()
    await ready(a)
    await admin.zadd(KEY, Date.now() - 60_000, 'long gone')
    expect(await a.report('a')).toStrictEqual(['a'])
    expect(await admin.zcard(KEY)).toBe(1)
    const ttl = await admin.pttl(KEY)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(20_000)
  })

  it('ignore lines that are too long, and the oldest of too many', async () => {
    const a = open()
    await ready(a)
    await admin.zadd(KEY, Date.now() + 1000, 'x'.repeat(100_000))
    expect(await a.report('a')).toStrictEqual(['a'])
    const many = Array.from({ length: 1000 }, (_, i) => [Date.now() - 5000, `line ${i}`]).flat()
    await admin.zadd(KEY, ...(many as [number, string]))
    const lines = await a.report('a')
    expect(lines.length).toBeLessThanOrEqual(200)
    expect(lines).toContain('a')
    await expect(a.report('y'.repeat(1025))).rejects.toThrow(RangeError)
  })

  it('report rejects if the key has another type or Redis is down', async () => {
    const a = open()
    await ready(a)
    await admin.set(KEY, 'not a sorted set')
    await expect(a.report('a')).rejects.toThrow(/WRONGTYPE/)
    const unreachable = open('redis://127.0.0.1:1')
    await expect(unreachable.report('a')).rejects.toThrow()
  })

  it('a user with the permissions of docs/operators/redis.md can list them', async () => {
    await admin.call(
      'ACL',
      'SETUSER',
      'lister',
      ...'reset on >secret ~rate_limiter:* -@all +info +eval +time +pexpire +zadd +zrem +zremrangebyscore +zrevrangebyscore'.split(
        ' ',
      ),
    )
    const a = open(`redis://lister:secret@127.0.0.1:${server.port}`)
    await ready(a)
    expect(await a.report('a')).toStrictEqual(['a'])
    await a.leave('a')
    expect(await admin.exists(KEY)).toBe(0)
  })
})

describe('the instances that share', () => {
  let sentinels: RedisSentinels
  let cluster: RedisCluster
  beforeAll(async () => {
    sentinels = await startSentinels({ downAfterMs: 30_000 })
    cluster = await startCluster({ nodeTimeoutMs: 30_000 })
  })
  afterAll(async () => {
    await sentinels?.stop()
    await cluster?.stop()
  })

  it.each([
    ['a primary with Sentinels', () => sentinels.url],
    ['a cluster', () => cluster.url],
  ])('%s list each other', async (_title, url) => {
    const stores = [1, 2].map(() => new RedisStore(url(), { connectTimeoutMs: 10_000 }))
    try {
      const [a, b] = stores.map((store) => instancesOf(store))
      await ready(a!)
      await ready(b!)
      await a!.report('a')
      expect((await b!.report('b')).toSorted()).toStrictEqual(['a', 'b'])
    } finally {
      await Promise.all(stores.map((store) => store.close()))
    }
  })
})

/** Waits for the connection: commands fail until there is one. */
async function ready(instances: ReturnType<typeof instancesOf>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await instances.leave('absent')
    } catch (error) {
      if (attempt === 300) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

it('rejects a store that is not a RedisStore, with the line to write', () => {
  expect(() => instancesOf({ check() {} })).toThrow(
    'store must be a RedisStore, got an object with check. Write for example new RedisStore(url).',
  )
})
