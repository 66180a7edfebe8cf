import { describe, expect, expectTypeOf, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { withDenialCache } from '../denial-cache/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow, tokenBucket } from '../policy/index.js'
import type { FailureEvent } from '../resilience/events.js'
import { type ResilientStore, withFallback } from '../resilience/index.js'
import type { AsyncStore, MaybePromise, Store } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'
import { type AsyncLimiter, createLimiter, type Limiter, type SyncLimiter } from './index.js'

const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'api' })
const START_MS = 1_800_000_000_000

function limiterOnClock() {
  const clock = new ManualClock(1000)
  return { clock, limiter: createLimiter({ policy, store: new MemoryStore({ clock }) }) }
}

it('takes one unit by default', () => {
  const { limiter } = limiterOnClock()
  expect(limiter.check('k')).toStrictEqual({
    allowed: true,
    limit: 10,
    cost: 1,
    remaining: 9,
    retryAfterMs: 0,
    resetAfterMs: 1000,
    delayMs: 0,
    timeMs: 1000,
    policy: 'api',
  })
  expect(limiter.peek('k', 10)).toMatchObject({ allowed: false, remaining: 9, retryAfterMs: 1000 })
})

it('has its own memory store by default', () => {
  const one = createLimiter({ policy })
  const other = createLimiter({ policy })
  one.check('k', 10)
  expect(other.check('k').remaining).toBe(9)
})

it('returns plain values on a store in this process, and promises on others', async () => {
  const { limiter } = limiterOnClock()
  expect(limiter.check('k')).toMatchObject({ allowed: true })
  const memory = new MemoryStore()
  const remote: AsyncStore = {
    check: async (request) => memory.check(request),
    take: async (requests) => memory.take(requests),
    peek: async (request) => memory.peek(request),
    refund: async (request) => memory.refund(request),
    reset: async (request) => memory.reset(request),
    close: async () => memory.close(),
  }
  const check = createLimiter({ policy, store: remote }).check('k')
  expect(check).toBeInstanceOf(Promise)
  expect(await check).toMatchObject({ allowed: true, remaining: 9 })
})

it('refunds a decision as a whole or in parts, up to its cost', () => {
  const { limiter } = limiterOnClock()
  const decision = limiter.check('k', 6)
  // A refund with an invalid key is not recorded.
  expect(() => limiter.refund('\n', decision)).toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
  expect(limiter.refund('k', decision, 4)).toBe(4)
  expect(() => limiter.refund('k', decision, 3)).toThrow(
    expect.objectContaining({
      code: 'REFUND_INVALID',
      message: expect.stringContaining('remaining 2 units'),
    }),
  )
  expect(limiter.refund('k', decision, 2)).toBe(2)
  expect(() => limiter.refund('k', decision, 1)).toThrow(
    expect.objectContaining({
      code: 'REFUND_INVALID',
      message: 'The 6 units of this decision have already been refunded.',
    }),
  )
  expect(limiter.refund('k', limiter.check('k', 5))).toBe(5)
  expect(limiter.peek('k').remaining).toBe(10)
})

it('gives nothing back for a denied decision, or one that took nothing', () => {
  const { limiter } = limiterOnClock()
  limiter.check('k', 10)
  expect(limiter.refund('k', limiter.check('k'))).toBe(0)
  expect(limiter.refund('k', { ...limiter.check('l'), degraded: 'open' })).toBe(0)
  expect(limiter.peek('k').remaining).toBe(0)
})

describe('charge', () => {
  it('takes units beyond the limit, and its decision can be refunded', () => {
    const { clock, limiter } = limiterOnClock()
    const decision = limiter.charge('k', 25)
    expect(decision).toMatchObject({
      allowed: true,
      remaining: 0,
      charged: 25,
      overBy: 15,
      resetAfterMs: 25_000,
    })
    expect(limiter.check('k')).toMatchObject({ allowed: false, retryAfterMs: 16_000 })
    expect(limiter.refund('k', decision)).toBe(25)
    expect(limiter.check('k')).toMatchObject({ allowed: true, remaining: 9 })
    limiter.charge('k', 10)
    clock.advance(2000)
    expect(limiter.check('k')).toMatchObject({ allowed: true, remaining: 0 })
  })

  it.each([0, -1, 1.5, Number.NaN, 1e9 + 1, '5' as never])('rejects %s units', (units) => {
    const { limiter } = limiterOnClock()
    expect(() => limiter.charge('k', units)).toThrow(expect.objectContaining({ code: 'CHARGE_INVALID' }))
    expect(limiter.peek('k').remaining).toBe(10)
  })

  it('gives nothing back for a charge that was not counted', async () => {
    const store = new FallibleStore(new ManualClock(START_MS))
    const closed = tokenBucket({ capacity: 10, refillRate: 1, name: 'closed', onStoreFailure: 'closed' })
    const limiter = createLimiter({ policy: closed, store, failure: { onEvent() {} } })
    store.state = 'failing'
    const decision = await limiter.charge('k', 5)
    expect(decision).toMatchObject({ allowed: true, degraded: 'closed', charged: 0 })
    store.state = 'up'
    expect(await limiter.refund('k', decision)).toBe(0)
  })
})

describe('block', () => {
  it('denies every check for a duration, until it is reset', () => {
    const { clock, limiter } = limiterOnClock()
    limiter.block('k', '1m')
    expect(limiter.check('k')).toMatchObject({ allowed: false, retryAfterMs: 60_000, reason: 'blocked' })
    limiter.block('k', 5000)
    clock.advance(5000)
    expect(limiter.check('k')).toMatchObject({ allowed: true, remaining: 9 })
    limiter.block('k', '1d')
    limiter.reset('k')
    expect(limiter.check('k')).toMatchObject({ allowed: true, remaining: 9 })
  })

  it.each([0, -1, Number.NaN, '367d', '5 minutes', undefined as never])(
    'rejects a duration of %s',
    (duration) => {
      const { limiter } = limiterOnClock()
      expect(() => limiter.block('k', duration)).toThrow(
        expect.objectContaining({ code: 'BLOCK_INVALID', field: 'duration' }),
      )
    },
  )
})

describe('on a store that has neither charge nor block', () => {
  const { check, take, peek, refund, reset, close } = new FallibleStore(new ManualClock(START_MS))
  const store = { check, take, peek, refund, reset, close }

  it('both reject, and name the method to implement', async () => {
    for (const failure of [false, { onEvent() {} }] as const) {
      const limiter = createLimiter({ policy, store, failure })
      const code = 'OPERATION_UNSUPPORTED'
      await expect(limiter.charge('k', 1)).rejects.toMatchObject({ code, message: /implement charge/ })
      await expect(limiter.block('k', '1m')).rejects.toMatchObject({ code, message: /implement block/ })
    }
  })

  it('a policy with blockFor is an error when the limiter is made', () => {
    const blocking = tokenBucket({ capacity: 10, refillRate: 1, blockFor: '1m', name: 'blocking' })
    expect(() => createLimiter({ policy: blocking, store })).toThrow(
      expect.objectContaining({ code: 'OPERATION_UNSUPPORTED' }),
    )
  })
})

it('rejects a refund of a decision of another policy', () => {
  const { limiter } = limiterOnClock()
  const other = createLimiter({ policy: fixedWindow({ limit: 1, window: '1s' }) })
  const decision = other.check('k')
  expect(() => limiter.refund('k', decision)).toThrow(expect.objectContaining({ code: 'REFUND_INVALID' }))
})

it.each([undefined, null, 'user:123'])('rejects %j in place of a decision', (decision) => {
  const { limiter } = limiterOnClock()
  expect(() => limiter.refund('k', decision as never)).toThrow(
    expect.objectContaining({ code: 'REFUND_INVALID', field: 'decision' }),
  )
})

it('rejects an invalid policy when it is created, not when it is used', () => {
  expect(() =>
    createLimiter({ policy: { algorithm: 'fixed-window', limit: 1, window: 1000 } as never }),
  ).toThrow(
    expect.objectContaining({ code: 'POLICY_INVALID', message: expect.stringContaining('definePolicy') }),
  )
})

it('rejects invalid options', () => {
  const invalid = (field?: string) => expect.objectContaining({ code: 'OPTION_INVALID', field })
  expect(() => createLimiter({ policy, stor: new MemoryStore() } as never)).toThrow(invalid('stor'))
  expect(() => createLimiter({ policy, store: {} as never })).toThrow(invalid('store'))
  expect(() => createLimiter({ policy, failure: { deadlineMs: 0 } })).toThrow(invalid('deadlineMs'))
  expect(() => createLimiter({ policy, failure: true as never })).toThrow(invalid('failure'))
  expect(() => createLimiter(undefined as never)).toThrow(invalid())
})

describe('a limiter on a store that can fail', () => {
  const closed = tokenBucket({ capacity: 10, refillRate: 1, name: 'closed', onStoreFailure: 'closed' })
  const local = tokenBucket({ capacity: 10, refillRate: 1, name: 'local', onStoreFailure: 'local' })

  function failing() {
    const store = new FallibleStore(new ManualClock(1000))
    store.state = 'failing'
    return store
  }

  it("falls back to the policy's onStoreFailure", async () => {
    const store = failing()
    for (const [ofMode, expected] of [
      [policy, { allowed: true, degraded: 'open' }],
      [closed, { allowed: false, degraded: 'closed' }],
      [local, { allowed: true, degraded: 'local', remaining: 9 }],
    ] as const) {
      const limiter = createLimiter({ policy: ofMode, store })
      expect(await limiter.peek('other')).toMatchObject({ allowed: expected.allowed })
      expect(await limiter.check('k')).toMatchObject(expected)
      expect(await limiter.store.take([{ policy: ofMode, key: 'l', cost: 1 }])).toMatchObject({
        allowed: expected.allowed,
      })
    }
  })

  it('returns promises, also when the breaker is open', async () => {
    const store = failing()
    const limiter = createLimiter({ policy, store })
    for (let i = 0; i < 10; i++) {
      const check = limiter.check('k')
      expect(check).toBeInstanceOf(Promise)
      await check
    }
  })

  it('fails with its store if failure is false', async () => {
    const store = failing()
    const limiter = createLimiter({ policy, store, failure: false })
    expect(limiter.store).toBe(store)
    await expect(limiter.check('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('shares the breaker with all limiters on that store', async () => {
    const store = failing()
    const [one, other] = [createLimiter({ policy, store }), createLimiter({ policy: closed, store })]
    for (let i = 0; i < 5; i++) await one.check('k')
    store.methods.length = 0
    expect(await other.check('k')).toMatchObject({ degraded: 'closed' })
    expect(store.methods).toStrictEqual([])
    expect((one.store as ResilientStore).breakerState).toBe('open')
  })

  it('has its own breaker and its own events if it has failure options', async () => {
    const store = failing()
    const events: FailureEvent[] = []
    const one = createLimiter({ policy, store, failure: { onEvent: (event) => events.push(event) } })
    for (let i = 0; i < 5; i++) await one.check('k')
    expect(events.map(({ type }) => type)).toContain('store')
    store.methods.length = 0
    await createLimiter({ policy, store, failure: {} }).check('k')
    expect(store.methods).toStrictEqual(['check'])
  })

  it('uses a guarded store as it is', () => {
    const store = withFallback(failing())
    expect(createLimiter({ policy, store }).store).toBe(store)
    expect(createLimiter({ policy, store, failure: {} }).store).toBe(store)
    const cached = withDenialCache(store)
    expect(createLimiter({ policy, store: cached }).store).toBe(cached)
  })

  it('uses a store in this process as it is', () => {
    const store = new MemoryStore()
    const limiter = createLimiter({ policy, store, failure: { deadlineMs: 10 } })
    expect(limiter.store).toBe(store)
    expect(limiter.check('k').remaining).toBe(9)
  })

  it('refunds a local decision to the local count, and an open one not at all', async () => {
    const store = failing()
    const limiter = createLimiter({ policy: local, store })
    const decision = await limiter.check('k', 10)
    store.state = 'up'
    store.methods.length = 0
    expect(await limiter.refund('k', decision, 4)).toBe(4)
    const open = createLimiter({ policy, store })
    expect(await open.refund('k', { ...decision, policy: 'api', degraded: 'open' })).toBe(0)
    expect(store.methods).toStrictEqual([])
  })

  it.each([
    ['with a fallback', (store: Store) => createLimiter({ policy, store })],
    ['without a fallback', (store: Store) => createLimiter({ policy, store, failure: false })],
    [
      'with a denial cache around a fallback',
      (store: Store) => createLimiter({ policy, store: withDenialCache(withFallback(store)) }),
    ],
  ])('rejects an invalid refund %s, and resolves with 0 for a denied decision', async (_, limiterOn) => {
    const store = failing()
    store.state = 'up'
    const limiter = limiterOn(store)
    const decision = await limiter.check('k')
    const code = 'REFUND_INVALID'
    await expect(limiter.refund('k', decision, 9)).rejects.toMatchObject({ code, field: 'cost' })
    const other = { ...decision, policy: 'other' }
    await expect(limiter.refund('k', other)).rejects.toMatchObject({ code, field: 'decision' })
    await expect(limiter.refund('k', { ...decision, allowed: false })).resolves.toBe(0)
    await expect(limiter.refund('k', decision)).resolves.toBe(1)
  })

  it('rejects a reset that failed', async () => {
    const limiter = createLimiter({ policy, store: failing() })
    await expect(limiter.reset('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('rejects invalid input', async () => {
    const limiter = createLimiter({ policy, store: failing() })
    await expect(limiter.check('')).rejects.toMatchObject({ code: 'KEY_INVALID' })
    await expect(limiter.check('k', 11)).rejects.toMatchObject({ code: 'COST_ABOVE_LIMIT' })
  })
})

describe('ready', () => {
  it('resolves on a memory store', async () => {
    await expect(createLimiter({ policy }).ready()).resolves.toBe(undefined)
  })

  it('rejects on a closed memory store', async () => {
    const store = new MemoryStore()
    const limiter = createLimiter({ policy, store })
    store.close()
    await expect(limiter.ready()).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'closed' })
  })

  it('makes one peek on a remote store, which takes nothing', async () => {
    const store = new FallibleStore(new ManualClock(1000))
    const limiter = createLimiter({ policy, store })
    await expect(limiter.ready()).resolves.toBe(undefined)
    expect(store.methods).toStrictEqual(['peek'])
  })

  it('rejects with the error of the store', async () => {
    const store = new FallibleStore(new ManualClock(1000))
    const limiter = createLimiter({ policy, store })
    store.state = 'failing'
    const error = { code: 'STORE_FAILED', message: 'The store is down.' }
    await expect(limiter.ready()).rejects.toMatchObject(error)
    store.state = 'up'
    await expect(limiter.ready()).resolves.toBe(undefined)
  })

  it.each([
    ['alone', (store: Store) => store],
    ['with a denial cache', (store: Store) => withDenialCache(store)],
    ['with a fallback', (store: Store) => withFallback(store)],
    ['with both', (store: Store) => withFallback(withDenialCache(store))],
    ['with both, the cache outside', (store: Store) => withDenialCache(withFallback(store))],
  ])('uses the ready of a store %s, and rejects with its reason', async (_, wrap) => {
    const reason = storeFailed('unreachable', 'No connection to 127.0.0.1:6379: ECONNREFUSED.')
    let isReachable = false
    const ready = async () => {
      if (!isReachable) throw reason
    }
    const store = new FallibleStore(new ManualClock(1000), { ready })
    const limiter = createLimiter({ policy, store: wrap(store) })
    await expect(limiter.ready()).rejects.toBe(reason)
    isReachable = true
    await expect(limiter.ready()).resolves.toBe(undefined)
    expect(store.methods).toStrictEqual([])
  })

  it('rejects on a guarded store that decides without its store', async () => {
    const store = new FallibleStore(new ManualClock(1000))
    store.state = 'failing'
    const limiter = createLimiter({ policy, store: withFallback(store, { onEvent() {} }) })
    await expect(limiter.ready()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

/** Checked by the compiler. */
describe('the type of a limiter', () => {
  it('is SyncLimiter without a store and on a store in this process', () => {
    const limiter = createLimiter({ policy })
    expectTypeOf(limiter).toEqualTypeOf<SyncLimiter>()
    expectTypeOf(createLimiter({ policy, store: new MemoryStore() })).toEqualTypeOf<SyncLimiter>()
    expectTypeOf(limiter.check('k')).toEqualTypeOf<Decision>()
    expectTypeOf(limiter.peek('k')).toEqualTypeOf<Decision>()
    expectTypeOf(limiter.refund('k', limiter.check('k'))).toEqualTypeOf<number>()
    expectTypeOf(limiter.reset('k')).toEqualTypeOf<void>()
  })

  it('is AsyncLimiter on a store with promises', () => {
    const store = new FallibleStore(new ManualClock(1000))
    const limiter = createLimiter({ policy, store })
    expectTypeOf(limiter).toEqualTypeOf<AsyncLimiter>()
    expectTypeOf(createLimiter({ policy, store: withFallback(store) })).toEqualTypeOf<AsyncLimiter>()
    expectTypeOf(limiter.check).returns.toEqualTypeOf<Promise<Decision>>()
    expectTypeOf(limiter.peek).returns.toEqualTypeOf<Promise<Decision>>()
    expectTypeOf(limiter.refund).returns.toEqualTypeOf<Promise<number>>()
    expectTypeOf(limiter.reset).returns.toEqualTypeOf<Promise<void>>()
  })

  it('is Limiter on a store of an unknown kind', () => {
    const limiter = createLimiter({ policy, store: new MemoryStore() as Store })
    expectTypeOf(limiter).toEqualTypeOf<Limiter>()
    expectTypeOf(limiter.check).returns.toEqualTypeOf<MaybePromise<Decision>>()
  })
})
