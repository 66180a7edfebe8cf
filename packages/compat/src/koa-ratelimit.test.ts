import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type RatelimiterDb, tidegateStore } from './koa-ratelimit.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const command = (db: RatelimiterDb, peek?: string, key = 'limit:a') =>
  db.ratelimiter(key, Date.now(), 10_000, 2, peek)

it('returns the remaining requests and the reset time', async () => {
  const db = tidegateStore()
  expect(await command(db)).toStrictEqual([2, 1010, 2])
  vi.setSystemTime(1_004_000)
  expect(await command(db)).toStrictEqual([1, 1014, 2])
  expect(await command(db)).toStrictEqual([0, 1010, 2])
  vi.setSystemTime(1_010_000)
  expect(await command(db)).toStrictEqual([1, 1020, 2])
})

it('peeks without counting', async () => {
  const db = tidegateStore()
  expect(await command(db, '1')).toMatchObject([2, 1000, 2])
  await command(db, '0')
  expect(await command(db, '1')).toMatchObject([1, 1010, 2])
  await command(db, '0')
  expect(await command(db, '1')).toMatchObject([0, 1010, 2])
})

it('counts keys that are not valid in a store', async () => {
  const db = tidegateStore()
  expect(await command(db, '0', `limit:${'x'.repeat(500)}`)).toMatchObject([2, 1010, 2])
  expect(await command(db, '0', `limit:${'x'.repeat(500)}`)).toMatchObject([1, 1010, 2])
})
