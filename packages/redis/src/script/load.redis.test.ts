import { fixedWindow, type Policy, slidingWindowLog, tokenBucket } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { conforms } from '../../test/conformance.js'
import { clientOf } from '../../test/redis-clients.js'
import { type RedisCluster, startCluster } from '../../test/redis-cluster.js'
import { DEFAULT_PREFIX } from '../keys.js'
import { RedisStore } from '../redis-store.js'

const LIMIT = 1000
const CHECKS = 10_000

/** No unit becomes available again during a test. */
const POLICIES: readonly Policy[] = [
  fixedWindow({ limit: LIMIT, window: '366d', name: 'fixed' }),
  slidingWindowLog({ limit: LIMIT, window: '366d', name: 'log' }),
  tokenBucket({ capacity: LIMIT, refillRate: '1/1h', name: 'token' }),
]

describe('a server that loses the script', () => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startRedis()
    redis = clientOf(server)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.stop()
  })

  it('SCRIPT FLUSH every few milliseconds under load fails no check and admits exactly the limit', async () => {
    // Without the denial cache, every check reaches the server.
    const store = new RedisStore(server.url, { denialCacheMs: 0 })
    let isLoading = true
    const flushes = (async () => {
      let count = 0
      for (; isLoading; count++) {
        await redis.script('FLUSH')
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      return count
    })()
    try {
      for (const policy of POLICIES) {
        let allowed = 0
        let left = CHECKS
        const work = async () => {
          while (left-- > 0) if ((await store.check({ policy, key: 'k', cost: 1 })).allowed) allowed++
        }
        await Promise.all(Array.from({ length: 100 }, work))
        expect([policy.name, allowed]).toStrictEqual([policy.name, LIMIT])
      }
    } finally {
      isLoading = false
      await store.close()
    }
    expect(await flushes).toBeGreaterThan(10)
    // The script was sent again after it had been flushed.
    expect(Number(/cmdstat_eval:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1])).toBeGreaterThan(5)
  })

  it('sends the script to a server that was restarted', async () => {
    const first = await startRedis()
    const store = new RedisStore(first.url)
    let second: RedisServer | undefined
    try {
      await store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 })
      await first.stop()
      second = await startRedis([], { port: first.port })
      let decision: unknown
      // Checks fail while the server is down, and succeed once it is back.
      for (let attempt = 0; attempt < 200 && decision === undefined; attempt++) {
        decision = await store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 }).catch(() => undefined)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      expect(decision).toMatchObject({ allowed: true, remaining: LIMIT - 1 })
    } finally {
      await store.close()
      await first.stop()
      await second?.stop()
    }
  })
})

// The permissions of docs/operators/redis.md, and no more. HELLO needs none; Redis 7.0 has no CLIENT SETINFO.
const COMMANDS =
  '+evalsha +eval +get +mget +set +del +unlink +pttl +pexpire +time +llen +lindex +lrange +lpush +rpush +lset +ltrim +zadd +zrem +zrange +zcount +zscore +zrangebyscore +zremrangebyscore +zremrangebyrank +hmget +hset +hdel +hlen +hgetall +info'
const KEYS = `~${DEFAULT_PREFIX}:* ~{${DEFAULT_PREFIX}:*`
const PASSWORD = 'p@ss:w/rd%7'

function aclOf(keys: string, extra = ''): string[] {
  return `limiter reset on >${PASSWORD} ${keys} ${COMMANDS} ${extra}`.trim().split(' ')
}

function withUser(url: string, password = PASSWORD): string {
  return url.replace('://', `://limiter:${encodeURIComponent(password)}@`)
}

describe('a user with the fewest permissions', () => {
  describe('on one server', () => {
    let server: RedisServer
    let redis: Redis
    beforeAll(async () => {
      server = await startRedis()
      redis = clientOf(server)
    })
    beforeEach(async () => {
      await redis.flushall()
      await redis.call('ACL', 'SETUSER', ...aclOf(KEYS))
      await redis.call('ACL', 'LOG', 'RESET')
    })
    afterEach(async () => {
      // No command was denied.
      expect(await redis.call('ACL', 'LOG')).toStrictEqual([])
    })
    afterAll(async () => {
      redis?.disconnect()
      await server?.stop()
    })

    conforms((options) => new RedisStore(withUser(server.url), options), `${DEFAULT_PREFIX}:test`)

    it('decides by the time of the server', async () => {
      const store = new RedisStore(withUser(server.url))
      const before = Date.now()
      const { allowed, timeMs } = await store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 })
      await store.close()
      expect(allowed).toBe(true)
      expect(timeMs).toBeGreaterThanOrEqual(before)
    })

    it('accepts user and password as options', async () => {
      const store = new RedisStore(server.url, { username: 'limiter', password: PASSWORD })
      const { allowed } = await store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 })
      await store.close()
      expect(allowed).toBe(true)
    })
  })

  describe('on a cluster, with the commands of its client', () => {
    let cluster: RedisCluster
    let clients: Redis[] = []
    beforeAll(async () => {
      cluster = await startCluster({ nodeTimeoutMs: 30_000 })
      clients = cluster.nodes.map(clientOf)
      const acl = aclOf(KEYS, '+cluster|slots +cluster|info +client|setname')
      for (const client of clients) await client.call('ACL', 'SETUSER', ...acl)
    })
    afterAll(async () => {
      for (const client of clients) client.disconnect()
      await cluster?.stop()
    })

    it('takes, refunds and resets over many slots', async () => {
      const store = new RedisStore(withUser(cluster.url))
      try {
        for (let i = 0; i < 50; i++) {
          const requests = POLICIES.map((policy) => ({ policy, key: `user:${i}`, cost: 1 }))
          const { allowed, decisions } = await store.take(requests)
          expect(allowed).toBe(true)
          const { timeMs } = decisions[0]!
          expect(await store.refund({ ...requests[0]!, timeMs })).toBe(1)
          await store.reset(requests[1]!)
        }
      } finally {
        await store.close()
      }
      for (const client of clients) expect(await client.call('ACL', 'LOG')).toStrictEqual([])
    })

    it('a wrong password fails with STORE_FAILED and the reason', async () => {
      const store = new RedisStore(withUser(cluster.url, 'wrong'))
      expect(await failureOf(store)).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('WRONGPASS'),
      })
    })
  })
})

async function failureOf(store: RedisStore): Promise<unknown> {
  try {
    return await store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 }).catch((error: unknown) => error)
  } finally {
    await store.close()
  }
}

describe('a server that cannot be used', () => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startRedis()
    redis = clientOf(server)
    await redis.call('ACL', 'SETUSER', ...aclOf(KEYS))
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.stop()
  })

  it('a wrong password fails with STORE_FAILED and the reason', async () => {
    const store = new RedisStore(withUser(server.url, 'wrong'))
    expect(await failureOf(store)).toMatchObject({
      name: 'TidegateError',
      code: 'STORE_FAILED',
      message: expect.stringContaining('WRONGPASS'),
    })
  })

  it('a missing or wrong password fails with the URL to write', async () => {
    const locked = await startRedis(['--requirepass', 'right'])
    const client = clientOf(locked)
    const messageOf = async (redis: string | Redis) =>
      String(await failureOf(new RedisStore(redis as string)))
    try {
      expect(await messageOf(locked.url)).toMatch(
        /NOAUTH .*\. Write the password in the URL: redis:\/\/:PASSWORD@host\.$/,
      )
      expect(await messageOf(client)).toContain('Write the password in the URL: redis://:PASSWORD@host.')
      const wrong = await messageOf(locked.url.replace('//', '//:secret@'))
      expect(wrong).toMatch(
        /WRONGPASS .*\. Check the user name and the password in the URL: redis:\/\/USER:PASSWORD@host\.$/,
      )
      expect(wrong).not.toContain('secret')
    } finally {
      client.disconnect()
      await locked.stop()
    }
  })

  it('a wrong password fails every check, sequential or concurrent', async () => {
    const store = new RedisStore(withUser(server.url, 'wrong'))
    const check = () => store.check({ policy: POLICIES[0]!, key: 'k', cost: 1 }).then(() => 'answered')
    const codeOf = (error: { code?: unknown }) => error.code
    try {
      for (let i = 0; i < 5; i++) expect(await check().catch(codeOf)).toBe('STORE_FAILED')
      const together = await Promise.all(Array.from({ length: 200 }, () => check().catch(codeOf)))
      expect(new Set(together)).toStrictEqual(new Set(['STORE_FAILED']))
    } finally {
      await store.close()
    }
  })

  it('a key that the user may not touch fails with STORE_FAILED', async () => {
    const store = new RedisStore(withUser(server.url), { prefix: 'elsewhere' })
    expect(await failureOf(store)).toMatchObject({ code: 'STORE_FAILED' })
  })

  it.each(['redis://', 'redis+cluster://', 'redis+sentinel://'])(
    'a server that is down fails with STORE_FAILED: %s',
    async (scheme) => {
      const gone = await startRedis()
      await gone.stop()
      const url = `${scheme}127.0.0.1:${gone.port}${scheme.includes('sentinel') ? '/name' : ''}`
      expect(await failureOf(new RedisStore(url))).toMatchObject({ code: 'STORE_FAILED' })
    },
  )
})
