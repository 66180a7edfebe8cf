import { type Store, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { RedisStore } from '@tidegate/redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type FastifyHit,
  type FastifyRateLimitSettings,
  type FastifyRateLimitStore,
  tidegateStore as fastifyStore,
} from '../src/fastify-rate-limit.js'
import { tidegateStore as nestStore } from '../src/nestjs-throttler.js'

// Blocks shared by several processes. Each store has its own connection and denial cache, like a process.

const stores: Store[] = []
let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(async () => {
  for (const store of stores) await store.close()
  await server?.stop()
})

function ownStore(): Store {
  const store = withFallback(new RedisStore(server.url), { deadlineMs: 10_000, connectTimeoutMs: 10_000 })
  stores.push(store)
  return store
}

function fastifyPair(settings: FastifyRateLimitSettings, name: string) {
  const [first, second] = [1, 2].map(() => new (fastifyStore(ownStore(), { name }))(settings))
  return [first!, second!] as const
}

function call(store: FastifyRateLimitStore, method: 'incr' | 'read'): Promise<FastifyHit> {
  return new Promise((resolve, reject) => {
    store[method]('a', (error, hit) => (error ? reject(error) : resolve(hit!)), 60_000, 2)
  })
}

it('doubles the backoff over all processes', async () => {
  const [first, second] = fastifyPair({ exponentialBackoff: true }, 'backoff')
  expect(await call(first, 'incr')).toMatchObject({ current: 1 })
  expect(await call(second, 'incr')).toMatchObject({ current: 2 })
  expect(await call(first, 'incr')).toStrictEqual({ current: 3, ttl: 60_000 })
  expect(await call(second, 'incr')).toStrictEqual({ current: 4, ttl: 120_000 })
  expect(await call(first, 'incr')).toStrictEqual({ current: 5, ttl: 240_000 })
  const { current, ttl } = await call(second, 'read')
  expect(current).toBe(5)
  expect(ttl).toBeGreaterThan(200_000)
})

it('counts exceeding requests over all processes', async () => {
  const [first, second] = fastifyPair({ continueExceeding: true, ban: 1 }, 'continue')
  for (const store of [first, second, first]) await call(store, 'incr')
  expect(await call(second, 'incr')).toStrictEqual({ current: 4, ttl: 60_000 })
  expect(await call(first, 'incr')).toStrictEqual({ current: 5, ttl: 60_000 })
})

it('starts again in every process after a block that is shorter than the ttl', async () => {
  const [first, second] = [1, 2].map(() => nestStore(ownStore()))
  const hit = (store = first!) => store.increment('a', 3_600_000, 2, 300, 'default')
  for (let i = 0; i < 2; i++) expect(await hit()).toMatchObject({ isBlocked: false })
  expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 })
  await expect.poll(() => hit(second), { timeout: 10_000 }).toMatchObject({ isBlocked: false, totalHits: 1 })
})
