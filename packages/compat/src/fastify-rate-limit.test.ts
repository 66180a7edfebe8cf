import { createLimiter, fixedWindow, MemoryStore, type Store, storeFailed } from '@tidegate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type FastifyHit,
  type FastifyRateLimitSettings,
  type FastifyRateLimitStore,
  tidegateStore,
} from './fastify-rate-limit.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

function storeFor(settings: FastifyRateLimitSettings = {}, ...args: Parameters<typeof tidegateStore>) {
  const Store = tidegateStore(...args)
  return new Store(settings)
}

function call(
  store: FastifyRateLimitStore,
  method: 'incr' | 'read',
  { key = 'a', timeWindow = 1000, max = 2 } = {},
): Promise<FastifyHit> {
  return new Promise((resolve, reject) => {
    store[method](key, (error, hit) => (error ? reject(error) : resolve(hit!)), timeWindow, max)
  })
}

const incr = (store: FastifyRateLimitStore, options = {}) => call(store, 'incr', options)
const read = (store: FastifyRateLimitStore, options = {}) => call(store, 'read', options)

it('counts from the first request, for one window', async () => {
  const store = storeFor()
  expect(await incr(store)).toStrictEqual({ current: 1, ttl: 1000 })
  vi.setSystemTime(1_000_400)
  expect(await incr(store)).toStrictEqual({ current: 2, ttl: 600 })
  expect(await incr(store)).toStrictEqual({ current: 3, ttl: 600 })
  expect(await incr(store)).toStrictEqual({ current: 4, ttl: 600 })
  vi.setSystemTime(1_001_000)
  expect(await incr(store)).toStrictEqual({ current: 1, ttl: 1000 })
})

it('reads without counting', async () => {
  const store = storeFor()
  expect(await read(store)).toStrictEqual({ current: 0, ttl: 0 })
  for (let i = 0; i < 2; i++) await incr(store)
  expect(await read(store)).toStrictEqual({ current: 2, ttl: 1000 })
  await incr(store)
  expect(await read(store)).toStrictEqual({ current: 3, ttl: 1000 })
})

it('counts each route separately, and in this process each limit without a route', async () => {
  const store = storeFor()
  const routes = [
    store,
    store.child({ routeInfo: { method: 'GET', url: '/a' } }),
    store.child({ routeInfo: { method: 'POST', url: '/a' } }),
    store.child({ routeInfo: {} }),
    store.child({ routeInfo: {} }),
  ]
  for (const route of routes) expect(await incr(route)).toMatchObject({ current: 1 })
})

it('shares the counts of a route through a shared store', async () => {
  const memory = new MemoryStore()
  const route = { routeInfo: { method: 'GET', url: '/a' } }
  await incr(storeFor({}, memory).child(route))
  expect(await incr(storeFor({}, memory).child(route))).toMatchObject({ current: 2 })
})

it('counts every hit in the store for a ban', async () => {
  const memory = new MemoryStore()
  for (let i = 0; i < 4; i++) await incr(storeFor({ ban: 1 }, memory))
  expect(await incr(storeFor({ ban: 1 }, memory))).toMatchObject({ current: 5 })
})

it('denies everything at a limit of zero', async () => {
  expect(await incr(storeFor(), { max: 0 })).toMatchObject({ current: 1 })
})

it('reports the configured window if it is longer than the maximum of a store', async () => {
  const timeWindow = 2 ** 52
  expect(await incr(storeFor(), { timeWindow })).toStrictEqual({ current: 1, ttl: timeWindow })
})

describe('continueExceeding', () => {
  it('starts the wait again with each hit above the limit', async () => {
    const store = storeFor({ continueExceeding: true })
    for (let i = 0; i < 2; i++) await incr(store)
    for (let i = 3; i < 8; i++) {
      vi.setSystemTime(1_000_000 + (i - 2) * 900)
      expect(await incr(store)).toStrictEqual({ current: i, ttl: 1000 })
    }
    vi.setSystemTime(1_004_500 + 999)
    expect(await read(store)).toMatchObject({ ttl: 1 })
    vi.setSystemTime(1_004_500 + 1000)
    expect(await incr(store)).toStrictEqual({ current: 1, ttl: 1000 })
  })
})

describe('exponentialBackoff', () => {
  it('doubles the wait with each hit above the limit, and enforces it', async () => {
    const store = storeFor({ exponentialBackoff: true })
    for (let i = 0; i < 2; i++) await incr(store)
    for (const ttl of [1000, 2000, 4000]) expect(await incr(store)).toMatchObject({ ttl })
    vi.setSystemTime(1_003_999)
    expect(await read(store)).toStrictEqual({ current: 5, ttl: 1 })
    vi.setSystemTime(1_004_000)
    expect(await incr(store)).toStrictEqual({ current: 1, ttl: 1000 })
    await incr(store)
    expect(await incr(store)).toMatchObject({ ttl: 1000 })
  })

  it('does not exceed the largest safe number', async () => {
    const store = storeFor({ exponentialBackoff: true })
    const hits: FastifyHit[] = []
    for (let i = 0; i < 60; i++) hits.push(await incr(store))
    expect(hits.at(-1)?.ttl).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('a limiter', () => {
  const limiter = () =>
    createLimiter({ policy: fixedWindow({ limit: 2, window: '1m', start: 'first-request', name: 'mine' }) })

  it('counts a client on all routes by its own policy', async () => {
    const store = storeFor({}, limiter())
    expect(await incr(store)).toStrictEqual({ current: 1, ttl: 60_000 })
    expect(await incr(store.child({ routeInfo: { method: 'GET', url: '/' } }))).toMatchObject({ current: 2 })
    await expect(incr(store, { max: 3 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  it.each(['continueExceeding', 'exponentialBackoff'])('rejects %s', (option) => {
    expect(() => storeFor({ [option]: true }, limiter())).toThrow(/need a store/)
  })

  it('denies if the limit differs from that of the limiter, even with skipOnError', async () => {
    const count = (settings: object) =>
      new Promise<number | undefined>((resolve, reject) => {
        const store = storeFor(settings, limiter())
        store.incr('a', (error, hit) => (error === null ? resolve(hit?.current) : reject(error)), 60_000, 999)
      })
    await expect(count({})).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    expect(await count({ skipOnError: true })).toBeGreaterThan(1e14)
  })
})

it('fails if the store is unavailable, unless skipOnError or onStoreFailure say otherwise', async () => {
  const fail = () => Promise.reject(storeFailed('unreachable', 'The connection is down.'))
  const broken: Store = { check: fail, take: fail, peek: fail, refund: fail, reset: fail, close: () => {} }
  await expect(incr(storeFor({}, broken))).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await expect(read(storeFor({}, broken))).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(await incr(storeFor({ skipOnError: true }, broken))).toStrictEqual({ current: 0, ttl: 0 })
  const local = storeFor({}, broken, { onStoreFailure: 'local' })
  expect(await incr(local)).toMatchObject({ current: 1 })
  expect(await incr(local)).toMatchObject({ current: 2 })
  const closed = storeFor({ skipOnError: true }, broken, { onStoreFailure: 'closed' })
  expect((await incr(closed)).current).toBeGreaterThan(1e14)
  expect((await read(closed)).current).toBeGreaterThan(1e14)
})

it('denies if the window is invalid, even with skipOnError', async () => {
  const count = (settings: object) =>
    new Promise<number | undefined>((resolve, reject) => {
      const window = '1 minute' as unknown as number
      storeFor(settings).incr('a', (error, hit) => (error ? reject(error) : resolve(hit?.current)), window, 2)
    })
  await expect(count({})).rejects.toMatchObject({ code: 'POLICY_INVALID' })
  expect(await count({ skipOnError: true })).toBeGreaterThan(1e14)
})
