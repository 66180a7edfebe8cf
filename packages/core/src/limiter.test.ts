import { describe, expect, expectTypeOf, it } from 'vitest'
import { FallibleStore } from '../test/fallible-store.js'
import { ManualClock } from './clock.js'
import type { Decision } from './decision.js'
import { createLimiter, type Limiter, type SyncLimiter } from './limiter.js'
import { MemoryStore } from './memory-store/memory-store.js'
import { fixedWindow, tokenBucket } from './policy.js'
import { rememberRefusals } from './stores/remember-refusals.js'
import type { Store } from './stores/store.js'
import { type FailureEvent, type SurvivingStore, surviveFailures } from './stores/survive-failures.js'

const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'api' })

function limiterOnClock() {
  const clock = new ManualClock(1000)
  return { clock, limiter: createLimiter({ policy, store: new MemoryStore({ clock }) }) }
}

it('takes one unit where no cost is given', () => {
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

it('has a memory store of its own where none is given', () => {
  const one = createLimiter({ policy })
  const other = createLimiter({ policy })
  one.check('k', 10)
  expect(other.check('k').remaining).toBe(9)
})

it('answers with plain values on a store in this process, with promises on others', async () => {
  const { limiter } = limiterOnClock()
  expectTypeOf(limiter.check('k')).toEqualTypeOf<Decision>()
  const memory = new MemoryStore()
  const remote: Store = {
    check: async (request) => memory.check(request),
    take: async (requests) => memory.take(requests),
    peek: async (request) => memory.peek(request),
    refund: async (request) => memory.refund(request),
    reset: async (request) => memory.reset(request),
    close: async () => memory.close(),
  }
  const asynchronous: Limiter = createLimiter({ policy, store: remote })
  expect(await asynchronous.check('k')).toMatchObject({ allowed: true, remaining: 9 })
})

it('refunds a decision whole, or in parts that come to no more than its cost', () => {
  const { limiter } = limiterOnClock()
  const decision = limiter.check('k', 6)
  // What is refused for its key is not counted as given.
  expect(() => limiter.refund('\n', decision)).toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
  expect(limiter.refund('k', decision, 4)).toBe(4)
  expect(() => limiter.refund('k', decision, 3)).toThrow(
    expect.objectContaining({ code: 'REFUND_INVALID', message: expect.stringContaining('cost, 2,') }),
  )
  expect(limiter.refund('k', decision, 2)).toBe(2)
  expect(() => limiter.refund('k', decision, 1)).toThrow(expect.objectContaining({ code: 'REFUND_INVALID' }))
  expect(limiter.refund('k', limiter.check('k', 5))).toBe(5)
  expect(limiter.peek('k').remaining).toBe(10)
})

it('gives nothing back for a refused decision, or one that took nothing', () => {
  const { limiter } = limiterOnClock()
  limiter.check('k', 10)
  expect(limiter.refund('k', limiter.check('k'))).toBe(0)
  expect(limiter.refund('k', { ...limiter.check('l'), degraded: 'open' })).toBe(0)
  expect(limiter.peek('k').remaining).toBe(0)
})

it("refuses another policy's decision", () => {
  const { limiter } = limiterOnClock()
  const other = createLimiter({ policy: fixedWindow({ limit: 1, window: '1s' }) })
  const decision = other.check('k')
  expect(() => limiter.refund('k', decision)).toThrow(expect.objectContaining({ code: 'REFUND_INVALID' }))
})

it.each([undefined, null, 'user:123'])('refuses %j in place of a decision', (decision) => {
  const { limiter } = limiterOnClock()
  expect(() => limiter.refund('k', decision as never)).toThrow(
    expect.objectContaining({ code: 'REFUND_INVALID', field: 'decision' }),
  )
})

it('refuses what is not a policy when it is made, not when it is used', () => {
  expect(() =>
    createLimiter({ policy: { algorithm: 'fixed-window', limit: 1, window: 1000 } as never }),
  ).toThrow(
    expect.objectContaining({ code: 'POLICY_INVALID', message: expect.stringContaining('definePolicy') }),
  )
})

it('refuses options that mean nothing', () => {
  const invalid = (field?: string) => expect.objectContaining({ code: 'OPTION_INVALID', field })
  expect(() => createLimiter({ policy, stor: new MemoryStore() } as never)).toThrow(invalid('stor'))
  expect(() => createLimiter({ policy, store: {} as never })).toThrow(invalid('store'))
  expect(() => createLimiter({ policy, failure: { deadlineMs: 0 } })).toThrow(invalid('deadlineMs'))
  expect(() => createLimiter({ policy, failure: true as never })).toThrow(invalid())
  expect(() => createLimiter(undefined as never)).toThrow(invalid())
})

describe('on a store that can fail', () => {
  const closed = tokenBucket({ capacity: 10, refillRate: 1, name: 'closed', onStoreFailure: 'closed' })
  const local = tokenBucket({ capacity: 10, refillRate: 1, name: 'local', onStoreFailure: 'local' })

  function failing() {
    const store = new FallibleStore(new ManualClock(1000))
    store.mood = 'fails'
    return store
  }

  it("answers as the policy's onStoreFailure says", async () => {
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

  it('answers with promises, also where it need not wait', async () => {
    const store = failing()
    const limiter = createLimiter({ policy, store })
    for (let i = 0; i < 10; i++) {
      const answer = limiter.check('k')
      expect(answer).toBeInstanceOf(Promise)
      await answer
    }
  })

  it('fails with its store where failure is false', async () => {
    const store = failing()
    const limiter = createLimiter({ policy, store, failure: false })
    expect(limiter.store).toBe(store)
    await expect(limiter.check('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('shares the breaker with all limiters on that store', async () => {
    const store = failing()
    const [one, other] = [createLimiter({ policy, store }), createLimiter({ policy: closed, store })]
    for (let i = 0; i < 5; i++) await one.check('k')
    store.asked.length = 0
    expect(await other.check('k')).toMatchObject({ degraded: 'closed' })
    expect(store.asked).toStrictEqual([])
    expect((one.store as SurvivingStore).breakerState).toBe('open')
  })

  it('has its own where it has options, and hears what happens', async () => {
    const store = failing()
    const events: FailureEvent[] = []
    const one = createLimiter({ policy, store, failure: { onEvent: (event) => events.push(event) } })
    for (let i = 0; i < 5; i++) await one.check('k')
    expect(events.map(({ type }) => type)).toContain('store')
    store.asked.length = 0
    await createLimiter({ policy, store, failure: {} }).check('k')
    expect(store.asked).toStrictEqual(['check'])
  })

  it('leaves a store alone that is guarded already', () => {
    const store = surviveFailures(failing())
    expect(createLimiter({ policy, store }).store).toBe(store)
    expect(createLimiter({ policy, store, failure: {} }).store).toBe(store)
    const remembering = rememberRefusals(store)
    expect(createLimiter({ policy, store: remembering }).store).toBe(remembering)
  })

  it('leaves a store in this process alone, and answers with plain values', () => {
    const store = new MemoryStore()
    const limiter = createLimiter({ policy, store, failure: { deadlineMs: 10 } })
    expectTypeOf(limiter).toEqualTypeOf<SyncLimiter>()
    expect(limiter.store).toBe(store)
    expect(limiter.check('k').remaining).toBe(9)
  })

  it('gives back a local decision where it was counted, and of an open one nothing', async () => {
    const store = failing()
    const limiter = createLimiter({ policy: local, store })
    const decision = await limiter.check('k', 10)
    store.mood = 'answers'
    store.asked.length = 0
    expect(await limiter.refund('k', decision, 4)).toBe(4)
    const open = createLimiter({ policy, store })
    expect(await open.refund('k', { ...decision, policy: 'api', degraded: 'open' })).toBe(0)
    expect(store.asked).toStrictEqual([])
  })

  it.each([
    ['with what is put around a store', (store: Store) => createLimiter({ policy, store })],
    ['without', (store: Store) => createLimiter({ policy, store, failure: false })],
    [
      'with refusals remembered around that',
      (store: Store) => createLimiter({ policy, store: rememberRefusals(surviveFailures(store)) }),
    ],
  ])('rejects a refund that can never be right, %s, and gives a promise of 0', async (_, limiterOn) => {
    const store = failing()
    store.mood = 'answers'
    const limiter = limiterOn(store)
    const decision = await limiter.check('k')
    const code = 'REFUND_INVALID'
    await expect(limiter.refund('k', decision, 9)).rejects.toMatchObject({ code, field: 'cost' })
    const other = { ...decision, policy: 'other' }
    await expect(limiter.refund('k', other)).rejects.toMatchObject({ code, field: 'decision' })
    await expect(limiter.refund('k', { ...decision, allowed: false })).resolves.toBe(0)
    await expect(limiter.refund('k', decision)).resolves.toBe(1)
  })

  it('rejects a reset that did not happen', async () => {
    const limiter = createLimiter({ policy, store: failing() })
    await expect(limiter.reset('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('refuses wrong input as ever', async () => {
    const limiter = createLimiter({ policy, store: failing() })
    await expect(limiter.check('')).rejects.toMatchObject({ code: 'KEY_INVALID' })
    await expect(limiter.check('k', 11)).rejects.toMatchObject({ code: 'COST_ABOVE_LIMIT' })
  })
})
