import { createLimiter, MemoryStore, type Store, storeFailed, tokenBucket } from '@tidegate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ExpressRateLimitSettings, tidegateStore } from './express-rate-limit.js'
import { tidegateStore as honoStore } from './hono-rate-limiter.js'
import type { ThrottlerStore } from './nestjs-throttler.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const MINUTE: ExpressRateLimitSettings = { windowMs: 60_000, limit: 2 }

function storeFor(settings: ExpressRateLimitSettings, ...args: Parameters<typeof tidegateStore>) {
  const store = tidegateStore(...args)
  store.init(settings)
  return store
}

const hitsOf = async (store: ReturnType<typeof tidegateStore>, count: number, key = 'a') => {
  const hits: number[] = []
  for (let i = 0; i < count; i++) hits.push((await store.increment(key)).totalHits)
  return hits
}

/** A store whose every call fails. */
function brokenStore(): Store {
  const fail = () => Promise.reject(storeFailed('unreachable', 'The connection is down.'))
  return { check: fail, take: fail, peek: fail, refund: fail, reset: fail, close: () => {} }
}

describe('counting', () => {
  it('counts from the first request, for one window', async () => {
    const store = storeFor(MINUTE)
    expect(await store.increment('a')).toStrictEqual({ totalHits: 1, resetTime: new Date(1_060_000) })
    vi.setSystemTime(1_059_999)
    expect(await store.increment('a')).toStrictEqual({ totalHits: 2, resetTime: new Date(1_060_000) })
    vi.setSystemTime(1_060_000)
    expect(await store.increment('a')).toStrictEqual({ totalHits: 1, resetTime: new Date(1_120_000) })
  })

  it('numbers the hits above the limit, so that a handler sees the first one once', async () => {
    const store = storeFor(MINUTE)
    expect(await hitsOf(store, 5)).toStrictEqual([1, 2, 3, 4, 5])
    vi.setSystemTime(1_060_000)
    expect(await hitsOf(store, 3)).toStrictEqual([1, 2, 3])
  })

  it.each([
    ['a function', { limit: () => 2 }],
    ['zero', { limit: 0 }],
    ['a fraction', { limit: 2.5 }],
    ['taken back after failures', { skipFailedRequests: true }],
    ['taken back after success', { skipSuccessfulRequests: true }],
  ])('counts every hit in the store if the limit is %s', async (_, settings) => {
    const memory = new MemoryStore()
    const store = storeFor({ ...MINUTE, ...settings }, memory, { name: 'all' })
    await hitsOf(store, 4)
    const other = storeFor({ ...MINUTE, ...settings }, memory, { name: 'all' })
    expect(await other.get('a')).toMatchObject({ totalHits: 4 })
  })

  it('takes a hit back, not below zero, and keeps the window open', async () => {
    const store = storeFor({ ...MINUTE, skipFailedRequests: true })
    await store.increment('a')
    vi.setSystemTime(1_030_000)
    await store.decrement('a')
    await store.decrement('a')
    expect(await store.get('a')).toStrictEqual({ totalHits: 0, resetTime: new Date(1_060_000) })
    expect(await store.increment('a')).toStrictEqual({ totalHits: 1, resetTime: new Date(1_060_000) })
  })

  it('gets a count without counting, and undefined for an unknown key', async () => {
    const store = storeFor(MINUTE)
    expect(await store.get('a')).toBeUndefined()
    await store.increment('a')
    await store.get('a')
    expect(await store.get('a')).toStrictEqual({ totalHits: 1, resetTime: new Date(1_060_000) })
    await hitsOf(store, 3)
    expect(await store.get('a')).toMatchObject({ totalHits: 4 })
  })

  it('resets one key, or all keys of a store in this process', async () => {
    const store = storeFor(MINUTE)
    await hitsOf(store, 3, 'a')
    await hitsOf(store, 3, 'b')
    await store.resetKey('a')
    expect(await store.get('a')).toBeUndefined()
    expect(await store.get('b')).toMatchObject({ totalHits: 3 })
    await store.resetAll?.()
    expect(await hitsOf(store, 1, 'b')).toStrictEqual([1])
    expect(tidegateStore(brokenStore()).resetAll).toBeUndefined()
  })

  it('counts in this process if the store is null, apart from other stores', async () => {
    const [one, other] = [1, 2].map(() => storeFor(MINUTE, null as never))
    expect([await hitsOf(one!, 2), await hitsOf(other!, 1)]).toStrictEqual([[1, 2], [1]])
    await one!.resetAll?.()
    expect([await hitsOf(one!, 1), await hitsOf(other!, 1)]).toStrictEqual([[1], [2]])
  })

  it('counts apart from other stores after a reset, and together with those of its name', async () => {
    const memory = new MemoryStore()
    const limited = { ...MINUTE, limit: 5 }
    const [all, failed] = [limited, { ...limited, skipSuccessfulRequests: true }].map((settings) =>
      storeFor(settings, memory),
    )
    for (const store of [all!, failed!]) await store.resetAll?.()
    expect(all!.prefix).not.toBe(failed!.prefix)
    expect([await hitsOf(all!, 2), await hitsOf(failed!, 1)]).toStrictEqual([[1, 2], [1]])

    const [login, sameLogin] = [1, 2].map(() => storeFor(MINUTE, memory, { name: 'login' }))
    await hitsOf(login!, 2)
    await login!.resetAll?.()
    expect([await hitsOf(login!, 1), await hitsOf(sameLogin!, 1)]).toStrictEqual([[1], [2]])
  })

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(1000)],
    ['with a control character', 'a\nb'],
    ['a lone surrogate', '\ud800'],
  ])('counts a key that is %s', async (_, key) => {
    const store = storeFor(MINUTE)
    expect(await hitsOf(store, 2, key)).toStrictEqual([1, 2])
    expect(await hitsOf(store, 1, `${key}!`)).toStrictEqual([1])
  })
})

it('fails as the storage of @nestjs/throttler, which would allow every request', async () => {
  const storage = tidegateStore() as unknown as ThrottlerStore
  await expect(storage.increment('a', 60_000, 2, 60_000, 'default')).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining("from '@tidegate/compat/nestjs-throttler'"),
  })
})

describe('names', () => {
  it('rejects two limits with equal numbers and no name on one store', async () => {
    const memory = new MemoryStore()
    storeFor(MINUTE, memory)
    const second = tidegateStore(memory)
    expect(() => second.init(MINUTE)).toThrow(expect.objectContaining({ code: 'POLICY_UNNAMED' }))
    await expect(second.increment('a')).rejects.toMatchObject({ code: 'POLICY_UNNAMED' })
  })

  it.each([
    ['equal numbers', {}, /limit 2 and a window of 60000 ms .* tidegateStore\(store, \{ name: 'login' \}\)/],
    ['hits that are taken back', { skipFailedRequests: true }, /Two limits with a window of 60000 ms/],
  ])('denies for %s, even with passOnStoreError', async (_, settings, message) => {
    const memory = new MemoryStore()
    const options = { ...MINUTE, ...settings, passOnStoreError: true }
    storeFor(options, memory)
    const second = tidegateStore(memory)
    expect(() => second.init(options)).toThrow(message)
    expect((await second.increment('a')).totalHits).toBeGreaterThan(1e14)
  })

  it('shares a count by name, and counts other names separately', async () => {
    const memory = new MemoryStore()
    await storeFor(MINUTE, memory, { name: 'login' }).increment('a')
    const login = storeFor(MINUTE, memory, { name: 'login' })
    expect(await login.increment('a')).toMatchObject({ totalHits: 2 })
    const other = storeFor(MINUTE, memory, { name: 'other' })
    expect(await other.increment('a')).toMatchObject({ totalHits: 1 })
    expect([login.prefix, login.localKeys]).toStrictEqual(['login:', true])
  })

  it.each([
    [{ name: 'Not valid' }, 'POLICY_INVALID'],
    [{ onStoreFailure: 'maybe' }, 'POLICY_INVALID'],
    [{ prefix: 'x' }, 'OPTION_INVALID'],
  ])('rejects the options %o', (options, code) => {
    expect(() => tidegateStore(new MemoryStore(), options as object)).toThrow(
      expect.objectContaining({ code }),
    )
  })
})

describe('a limiter', () => {
  const limiter = () =>
    createLimiter({ policy: tokenBucket({ capacity: 2, refillRate: '1/10s', name: 'bucket' }) })

  it('decides by its own policy', async () => {
    const store = storeFor(MINUTE, limiter())
    expect(await hitsOf(store, 3)).toStrictEqual([1, 2, 3])
    vi.setSystemTime(1_010_000)
    expect(await hitsOf(store, 2)).toStrictEqual([2, 3])
  })

  it.each([
    ['another limit', { limit: 3 }],
    ['a limit that depends on the request', { limit: () => 2 }],
    ['hits that are taken back', { skipFailedRequests: true }],
  ])('rejects %s', (_, settings) => {
    expect(() => storeFor({ ...MINUTE, ...settings }, limiter())).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})

describe('an unavailable store', () => {
  it('fails the request, unless passOnStoreError or onStoreFailure say otherwise', async () => {
    const closed = storeFor(MINUTE, brokenStore())
    await expect(closed.increment('a')).rejects.toMatchObject({ code: 'STORE_FAILED' })
    const open = storeFor({ ...MINUTE, passOnStoreError: true }, brokenStore())
    expect(await hitsOf(open, 3)).toStrictEqual([1, 1, 1])
    const local = storeFor(MINUTE, brokenStore(), { onStoreFailure: 'local' })
    expect(await hitsOf(local, 3)).toStrictEqual([1, 2, 3])
    const hono = honoStore(brokenStore())
    hono.init(MINUTE)
    expect(await hono.increment('a')).toMatchObject({ totalHits: 1 })
  })

  it('denies with closed, even with passOnStoreError', async () => {
    const settings = { ...MINUTE, passOnStoreError: true }
    const store = storeFor(settings, brokenStore(), { onStoreFailure: 'closed' })
    expect((await store.increment('a')).totalHits).toBeGreaterThan(1e14)
    const policy = tokenBucket({ capacity: 2, refillRate: '1/10s', name: 'bucket', onStoreFailure: 'closed' })
    const limited = storeFor(settings, createLimiter({ policy, store: brokenStore() }))
    expect((await limited.increment('a')).totalHits).toBeGreaterThan(1e14)
  })

  it('does not reject a decrement, nor leave a reset unhandled', async () => {
    const store = storeFor({ ...MINUTE, skipFailedRequests: true }, brokenStore(), { onStoreFailure: 'open' })
    await expect(store.decrement('a')).resolves.toBeUndefined()
    const unhandled = vi.fn()
    process.once('unhandledRejection', unhandled)
    const reset = store.resetKey('a')
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
    await expect(reset).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})
