import { createLimiter, fixedWindow, MemoryStore } from '@tidegate/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type ThrottlerStore, tidegateStore } from './nestjs-throttler.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Hit {
  ttl?: number
  limit?: number
  blockDuration?: number
  throttler?: string
  key?: string
}

function hit(store: ThrottlerStore, { ttl = 10_000, limit = 2, blockDuration = ttl, ...rest }: Hit = {}) {
  return store.increment(rest.key ?? 'a', ttl, limit, blockDuration, rest.throttler ?? 'default')
}

it('counts hits and blocks above the limit', async () => {
  const store = tidegateStore()
  expect(await hit(store)).toStrictEqual({
    totalHits: 1,
    timeToExpire: 10,
    isBlocked: false,
    timeToBlockExpire: 0,
  })
  expect(await hit(store)).toMatchObject({ totalHits: 2, isBlocked: false })
  expect(await hit(store)).toStrictEqual({
    totalHits: 3,
    timeToExpire: 10,
    isBlocked: true,
    timeToBlockExpire: 10,
  })
  vi.setSystemTime(1_004_000)
  expect(await hit(store)).toMatchObject({ totalHits: 4, isBlocked: true, timeToBlockExpire: 6 })
  vi.setSystemTime(1_010_000)
  expect(await hit(store)).toMatchObject({ totalHits: 1, isBlocked: false })
})

it('counts each hit for its ttl, not until the end of a common window', async () => {
  const store = tidegateStore()
  await hit(store)
  vi.setSystemTime(1_009_000)
  await hit(store)
  vi.setSystemTime(1_011_000)
  expect(await hit(store)).toMatchObject({ totalHits: 2 })
})

it.each([
  ['longer than the ttl', 20_000],
  ['shorter than the ttl', 5_000],
])('starts at zero after a block that is %s', async (_, blockDuration) => {
  const store = tidegateStore()
  for (let i = 0; i < 2; i++) await hit(store, { blockDuration })
  const seconds = blockDuration / 1000
  expect(await hit(store, { blockDuration })).toMatchObject({ isBlocked: true, timeToBlockExpire: seconds })
  vi.setSystemTime(1_000_000 + blockDuration - 1)
  expect(await hit(store, { blockDuration })).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 })
  vi.setSystemTime(1_000_000 + blockDuration)
  expect(await hit(store, { blockDuration })).toMatchObject({ isBlocked: false, totalHits: 1 })
  expect(await hit(store, { blockDuration })).toMatchObject({ isBlocked: false, totalHits: 2 })
  expect(await hit(store, { blockDuration })).toMatchObject({ isBlocked: true, totalHits: 3 })
})

it('counts each throttler and each key on its own', async () => {
  const store = tidegateStore(new MemoryStore())
  for (const one of [{}, { throttler: 'Long Name' }, { key: 'b' }, { key: 'x'.repeat(500) }]) {
    expect(await hit(store, one)).toMatchObject({ totalHits: 1 })
    expect(await hit(store, one)).toMatchObject({ totalHits: 2 })
  }
})

it('blocks everything at a limit of zero, and has no upper limit', async () => {
  const store = tidegateStore()
  expect(await hit(store, { limit: 0 })).toMatchObject({ isBlocked: true, timeToBlockExpire: 10 })
  expect(await hit(store, { limit: 5e9, key: 'b' })).toMatchObject({ isBlocked: false, totalHits: 1 })
})

it.each([
  ['above 100,000', { limit: 200_000 }],
  ['with a block that is shorter than the ttl', { limit: 100, blockDuration: 1000 }],
])('enforces a limit whose requests alternate with those of a limit %s', async (_, other) => {
  const store = tidegateStore()
  const blocked: boolean[] = []
  for (let i = 0; i < 4; i++) {
    blocked.push((await hit(store)).isBlocked)
    await hit(store, other)
  }
  expect(blocked).toStrictEqual([false, false, true, true])
})

it('counts by the policy of a limiter', async () => {
  const policy = fixedWindow({ limit: 2, window: '1m', start: 'first-request', name: 'mine' })
  const store = tidegateStore(createLimiter({ policy }))
  await hit(store)
  expect(await hit(store)).toMatchObject({ totalHits: 2, timeToExpire: 60 })
  expect(await hit(store)).toMatchObject({ isBlocked: true, timeToBlockExpire: 60 })
  await expect(hit(store, { limit: 3 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})
