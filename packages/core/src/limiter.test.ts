import { expect, expectTypeOf, it } from 'vitest'
import { ManualClock } from './clock.js'
import type { Decision } from './decision.js'
import { createLimiter, type Limiter } from './limiter.js'
import { fixedWindow, tokenBucket } from './policy.js'
import { MemoryStore } from './stores/memory-store.js'
import type { Store } from './stores/store.js'

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
  expect(() => createLimiter(undefined as never)).toThrow(invalid())
})
