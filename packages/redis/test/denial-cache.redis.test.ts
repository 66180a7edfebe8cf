import { fixedWindow, type Policy, slidingWindowLog, tokenBucket, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { clientOf } from './redis-clients.js'

// The denial cache on a real server and in real time. Core tests its contract; these tests show that the store uses it,
// and how many calls of a flood reach Redis.

const hour = fixedWindow({ limit: 5, window: '366d', name: 'hour' })
const other = slidingWindowLog({ limit: 5, window: '366d', name: 'other' })
const bucket = tokenBucket({ capacity: 5, refillRate: '5/1h', name: 'bucket' })

let server: RedisServer
let redis: Redis
let store: RedisStore
beforeAll(async () => {
  server = await startRedis()
  redis = clientOf(server)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})
beforeEach(async () => {
  await redis.flushall()
  store = new RedisStore(server.url)
})
afterEach(() => store.close())

/** How many script calls Redis executes during `run`. */
async function callsOf(run: () => Promise<unknown>): Promise<number> {
  const before = await calls()
  await run()
  return (await calls()) - before
}

async function calls(): Promise<number> {
  const stats = await redis.info('commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

async function useUp(policy: Policy, key: string): Promise<void> {
  expect((await store.check({ policy, key, cost: 5 })).allowed).toBe(true)
  expect((await store.check({ policy, key, cost: 1 })).allowed).toBe(false)
}

describe('a flood', () => {
  const KEYS = Array.from({ length: 10 }, (_, i) => `client:${i}`)
  const CHECKS = 20_000
  const TURNS = 100
  const PAUSE_MS = 11

  it.each([hour, other, bucket])(
    'of 20,000 checks on 10 exhausted keys of "$name" costs Redis at most one call per key and second',
    async (policy) => {
      for (const key of KEYS) await useUp(policy, key)
      const waits: Map<string, number>[] = []
      let denied = 0
      const startedAt = performance.now()
      const scriptCalls = await callsOf(async () => {
        for (let turn = 0; turn < TURNS; turn++) {
          const decisions = await Promise.all(
            Array.from({ length: CHECKS / TURNS }, async (_, i) => {
              const key = KEYS[i % KEYS.length]!
              return { key, ...(await store.check({ policy, key, cost: 1 })) }
            }),
          )
          denied += decisions.filter(({ allowed }) => !allowed).length
          waits.push(new Map(decisions.map(({ key, retryAfterMs }) => [key, retryAfterMs])))
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        }
      })
      const seconds = (performance.now() - startedAt) / 1000
      console.log(
        `${policy.name}: ${CHECKS} checks in ${seconds.toFixed(2)} s, ${scriptCalls} calls of the script`,
      )
      expect(denied).toBe(CHECKS)
      // The waits differ by the time between the two answers, from the cache or from Redis.
      const shrunk = KEYS.map((key) => waits[0]!.get(key)! - waits.at(-1)!.get(key)!)
      expect(Math.min(...shrunk)).toBeGreaterThan((TURNS * PAUSE_MS) / 2)
      expect(Math.max(...shrunk)).toBeLessThan(seconds * 1000 * 1.5)
      // Some calls were made: no denial is cached for longer than the cap.
      expect(scriptCalls).toBeGreaterThan(0)
      expect(scriptCalls).toBeLessThanOrEqual(KEYS.length * Math.ceil(seconds))
    },
  )

  it('of 256 checks at a time on one key makes one call to Redis a second', async () => {
    const startedAt = performance.now()
    await useUp(hour, 'k')
    const scriptCalls = await callsOf(async () => {
      const work = async () => {
        while (performance.now() - startedAt < 2500) {
          expect((await store.check({ policy: hour, key: 'k', cost: 1 })).allowed).toBe(false)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
      }
      await Promise.all(Array.from({ length: 256 }, work))
    })
    // One call per second. If each of the 256 called Redis, there would be 256 calls per second.
    expect(scriptCalls).toBeGreaterThan(0)
    expect(scriptCalls).toBeLessThanOrEqual(Math.floor((performance.now() - startedAt) / 1000))
  })
})

describe('a call through the same store that gives units back takes effect at once', () => {
  it.each([hour, other, bucket])('a reset, of "$name"', async (policy) => {
    await useUp(policy, 'k')
    await store.reset({ policy, key: 'k' })
    expect((await store.check({ policy, key: 'k', cost: 1 })).allowed).toBe(true)
  })

  it.each([hour, other, bucket])('a refund, of "$name"', async (policy) => {
    const { timeMs } = await store.check({ policy, key: 'k', cost: 5 })
    expect((await store.check({ policy, key: 'k', cost: 1 })).allowed).toBe(false)
    await store.refund({ policy, key: 'k', timeMs, cost: 2 })
    expect((await store.check({ policy, key: 'k', cost: 1 })).allowed).toBe(true)
  })

  it('a reset in the middle of a flood', async () => {
    await useUp(hour, 'k')
    const check = () => store.check({ policy: hour, key: 'k', cost: 1 })
    for (let round = 0; round < 50; round++) {
      const before = Array.from({ length: 100 }, check)
      const reset = store.reset({ policy: hour, key: 'k' })
      await Promise.all([...before, reset])
      const after = await Promise.all(Array.from({ length: 100 }, check))
      expect([round, after.filter(({ allowed }) => allowed).length]).toStrictEqual([round, 5])
    }
  })
})

it('a reset by another store is seen within the cap', async () => {
  const short = new RedisStore(server.url, { denialCacheMs: 200 })
  const request = { policy: hour, key: 'k', cost: 1 }
  try {
    await short.check({ ...request, cost: 5 })
    const startedAt = performance.now()
    expect((await short.check(request)).allowed).toBe(false)
    await store.reset(request)
    expect((await store.check(request)).allowed).toBe(true)
    while (!(await short.check(request)).allowed) {
      expect(performance.now() - startedAt).toBeLessThan(5000)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200)
  } finally {
    await short.close()
  }
})

it('a take with one cached denial makes no call, and has no decision for the other limit', async () => {
  await useUp(hour, 'k')
  const requests = [other, hour].map((policy) => ({ policy, key: 'k', cost: 1 }))
  expect(
    await callsOf(async () => {
      const result = await store.take(requests)
      expect(result).toMatchObject({ allowed: false, delayMs: 0, decisions: [undefined, { policy: 'hour' }] })
      expect(result.retryAfterMs).toBeGreaterThan(0)
    }),
  ).toBe(0)
  expect((await store.peek(requests[0]!)).remaining).toBe(5)
})

it('a cached denial is returned while Redis is down, and does not close the circuit breaker', async () => {
  const lost = await startRedis()
  const caching = new RedisStore(lost.url, { denialCacheMs: 60_000 })
  const resilient = withFallback(caching, { onEvent() {} })
  const check = (key: string, cost = 1) => resilient.check({ policy: hour, key, cost })
  const retry = async () => {
    expect(await check('blocked')).toMatchObject({ allowed: false })
    expect(await resilient.take([{ policy: hour, key: 'blocked', cost: 1 }])).toMatchObject({
      allowed: false,
    })
  }
  try {
    await check('blocked', 5)
    await retry()
    await lost.stop()
    await until('the breaker to open', async () => {
      await retry()
      expect(await check('other')).toMatchObject({ degraded: 'open' })
      return resilient.breakerState === 'open'
    })
    // Until after the first probe would be due.
    const endMs = performance.now() + 500
    while (performance.now() < endMs) {
      await retry()
      expect(resilient.breakerState).toBe('open')
    }
  } finally {
    await caching.close()
    await lost.stop()
  }
})

it('with a denialCacheMs of 0, every check calls Redis', async () => {
  const uncached = new RedisStore(server.url, { denialCacheMs: 0 })
  try {
    await uncached.check({ policy: hour, key: 'k', cost: 5 })
    const scriptCalls = await callsOf(async () => {
      for (let i = 0; i < 20; i++) await uncached.check({ policy: hour, key: 'k', cost: 1 })
    })
    expect(scriptCalls).toBe(20)
  } finally {
    await uncached.close()
  }
})

it('no more than maxCachedDenials are cached', async () => {
  const small = new RedisStore(server.url, { maxCachedDenials: 2 })
  const keys = ['a', 'b', 'c']
  try {
    for (const key of keys) {
      await small.check({ policy: hour, key, cost: 5 })
      await small.check({ policy: hour, key, cost: 1 })
    }
    const scriptCalls: number[] = []
    for (const key of ['c', 'b', 'a']) {
      scriptCalls.push(await callsOf(() => small.check({ policy: hour, key, cost: 1 })))
    }
    expect(scriptCalls).toStrictEqual([0, 0, 1])
  } finally {
    await small.close()
  }
})

it.each([
  ['denialCacheMs', { denialCacheMs: -1 }],
  ['denialCacheMs', { denialCacheMs: Number.NaN }],
  ['denialCacheMs', { denialCacheMs: '1s' as never }],
  ['maxCachedDenials', { maxCachedDenials: 0 }],
  ['maxCachedDenials', { maxCachedDenials: 1e9 }],
  ['maxBatch', { maxBatch: 1.5 }],
  ['connectTimeoutMs', { connectTimeoutMs: 0 }],
  ['connectTimeoutMs', { connectTimeoutMs: Number.NaN }],
  ['connectTimeoutMs', { connectTimeoutMs: Number.POSITIVE_INFINITY }],
  ['connectTimeoutMs', { connectTimeoutMs: 60_001 }],
  ['connectTimeoutMs', { connectTimeoutMs: '2s' as never }],
  ['username', { username: {} as never }],
  ['password', { password: 123 as never }],
  ['tls', { tls: true as never }],
  ['tls', { tls: null as never }],
])('rejects %s: %j', (field, options) => {
  expect(() => new RedisStore(server.url, options)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field, message: expect.stringContaining(field) }),
  )
})
