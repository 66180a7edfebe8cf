import { afterEach, expect, expectTypeOf, it, vi } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualClock } from '../clock.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { concurrency, leakyBucket, tokenBucket } from '../policy/index.js'
import type { SettleResult } from '../store/full-store.js'
import type { Store } from '../store/store.js'
import { createLimiter } from './index.js'

const policy = tokenBucket({ capacity: 1000, refillRate: '1000/1h', name: 'tokens' })

function setUp() {
  const clock = new ManualClock(1_800_000_000_000)
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  return { clock, limiter, left: () => limiter.peek('k').remaining }
}

afterEach(() => {
  vi.restoreAllMocks()
})

it('reserves an estimate, and settles the units that were really used', () => {
  const { limiter, left } = setUp()
  const reservation = limiter.reserve('k', 600, { id: 'request-1', ttl: '10m' })
  expect(reservation).toMatchObject({
    allowed: true,
    id: 'request-1',
    cost: 600,
    reserved: 600,
    remaining: 400,
  })
  expect(reservation.settle(450)).toStrictEqual({ settled: true, refunded: 150, charged: 0, overBy: 0 })
  expect(left()).toBe(550)
})

it('rejects the refund of a reservation, whose settlement gives its units back', () => {
  const { limiter, left } = setUp()
  limiter.check('k', 400)
  const reservation = limiter.reserve('k', 600)
  expect(() => limiter.refund('k', reservation)).toThrow(
    expect.objectContaining({ code: 'REFUND_INVALID', field: 'decision' }),
  )
  reservation.cancel()
  expect(left()).toBe(600)
})

it('cancels a reservation', () => {
  const { limiter, left } = setUp()
  limiter.reserve('k', 600).cancel()
  expect(left()).toBe(1000)
})

it('settles and cancels by key and id, also in another process', () => {
  const { limiter, left } = setUp()
  limiter.reserve('k', 600, { id: 'a' })
  expect(limiter.settle('k', 'a', 100)).toMatchObject({ settled: true, refunded: 500 })
  limiter.reserve('k', 600, { id: 'b' })
  expect(limiter.cancel('k', 'b')).toMatchObject({ settled: true, refunded: 600 })
  expect(limiter.cancel('k', 'b')).toStrictEqual({ settled: false, reason: 'ended' })
  expect(left()).toBe(900)
})

it('a denied reservation is not settled, and its id stays free', () => {
  const { limiter } = setUp()
  limiter.check('k', 800)
  const denied = limiter.reserve('k', 300, { id: 'a' })
  expect(denied).toMatchObject({ allowed: false, reserved: 0, id: 'a' })
  expect(denied.settle(5)).toStrictEqual({ settled: false, reason: 'unknown' })
  expect(limiter.reserve('k', 200, { id: 'a' }).allowed).toBe(true)
})

it('returns promises for a remote store, also from settle', async () => {
  const clock = new ManualClock(1_800_000_000_000)
  const limiter = createLimiter({ policy, store: new FallibleStore(clock) })
  const reservation = await limiter.reserve('k', 600)
  expectTypeOf(reservation.settle).returns.toEqualTypeOf<Promise<SettleResult>>()
  expect(reservation.settle(1)).toBeInstanceOf(Promise)
  const denied = await limiter.reserve('k', 1000)
  expect(denied.allowed).toBe(false)
  expect(denied.cancel()).toBeInstanceOf(Promise)
  expect(await limiter.settle('k', 'unknown', 1)).toStrictEqual({ settled: false, reason: 'unknown' })
  await expect(limiter.reserve('k', 0)).rejects.toMatchObject({ code: 'RESERVATION_INVALID' })
})

it('a reservation that goes out of scope unsettled counts in full, with one warning', async () => {
  const { limiter, left } = setUp()
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  for (const key of ['k', 'other']) {
    const reservation = limiter.reserve(key, 600)
    await reservation[Symbol.asyncDispose]()
    expect(reservation.settle(1)).toStrictEqual({ settled: false, reason: 'ended' })
  }
  expect(left()).toBe(400)
  expect(warn).toHaveBeenCalledOnce()
  expect(warn.mock.calls[0]).toMatchObject([
    expect.stringContaining('settle(actual)'),
    { code: 'TIDEGATE_RESERVATION_UNSETTLED' },
  ])
})

it('a reservation that was settled, cancelled or denied goes out of scope without an effect', async () => {
  const { limiter, left } = setUp()
  const settled = limiter.reserve('k', 100)
  settled.settle(10)
  const cancelled = limiter.reserve('k', 100)
  cancelled.cancel()
  const elsewhere = limiter.reserve('k', 100, { id: 'a' })
  limiter.settle('k', 'a', 20)
  const denied = limiter.reserve('k', 1000)
  for (const reservation of [settled, cancelled, elsewhere, denied]) await reservation[Symbol.asyncDispose]()
  expect(left()).toBe(970)
})

it('does not throw when it goes out of scope if the store fails', async () => {
  const clock = new ManualClock(1_800_000_000_000)
  const store = new FallibleStore(clock)
  const limiter = createLimiter({ policy, store, failure: false })
  const reservation = await limiter.reserve('k', 600)
  store.state = 'failing'
  await expect(reservation[Symbol.asyncDispose]()).resolves.toBeUndefined()
})

it('rejects policies that units cannot be reserved under', () => {
  for (const other of [
    leakyBucket({ capacity: 10, leakRate: 1, name: 'leaky' }),
    concurrency({ limit: 5 }),
  ]) {
    const limiter = createLimiter({ policy: other, store: new MemoryStore() })
    expect(() => limiter.reserve('k', 1)).toThrow(expect.objectContaining({ code: 'RESERVATION_INVALID' }))
    expect(() => limiter.settle('k', 'a', 1)).toThrow(
      expect.objectContaining({ code: 'RESERVATION_INVALID' }),
    )
  }
})

it('rejects a store without reserve', () => {
  const memory = new MemoryStore()
  const basic = { traits: memory.traits, check: memory.check, peek: memory.peek } as unknown as Store
  const limiter = createLimiter({ policy, store: basic, failure: false })
  expect(() => limiter.reserve('k', 1)).toThrow(expect.objectContaining({ code: 'OPERATION_UNSUPPORTED' }))
})
