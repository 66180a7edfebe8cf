import { afterEach, describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { systemClock } from '../clock.js'
import type { LeasingStore } from '../leases/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow } from '../policy/index.js'
import { createLimiter } from './index.js'

const numbers = { limit: 1000, window: '1h', onStoreFailure: 'local' } as const
const policy = fixedWindow({ ...numbers, name: 'leased', lease: { maxAge: '10s' } })

const opened: FallibleStore[] = []
afterEach(() => {
  for (const store of opened.splice(0)) store.close()
})

function setUp() {
  const store = new FallibleStore(systemClock)
  opened.push(store)
  return { store, limiter: createLimiter({ policy, store, failure: { onEvent() {} } }) }
}

describe('a limiter whose policy has a lease', () => {
  it('leases units of busy keys, and refunds leased decisions', async () => {
    const { store, limiter } = setUp()
    for (let i = 0; i < 40; i++) await limiter.check('k')
    expect(store.methods.length).toBeLessThan(12)
    const { unitsInHand } = (limiter.store as LeasingStore).leases
    const decision = await limiter.check('k')
    expect(decision.leased).toBe(true)
    expect(await limiter.refund('k', decision)).toBe(1)
    expect((limiter.store as LeasingStore).leases.unitsInHand).toBe(unitsInHand)
    await expect(limiter.refund('k', decision)).rejects.toMatchObject({ code: 'REFUND_INVALID' })
  })

  it('shares the leases of a store with other limiters', () => {
    const store = new FallibleStore(systemClock)
    opened.push(store)
    const make = () => createLimiter({ policy, store })
    expect(make().store).toBe(make().store)
    const unleased = createLimiter({ policy: fixedWindow({ ...numbers, name: 'plain' }), store })
    expect(unleased.store).not.toHaveProperty('leases')
  })

  it('spends its units while the store is unavailable, then falls back, without counting twice', async () => {
    const { store, limiter } = setUp()
    for (let i = 0; i < 40; i++) await limiter.check('k')
    const { unitsInHand } = (limiter.store as LeasingStore).leases
    expect(unitsInHand).toBeGreaterThan(0)
    store.state = 'failing'
    for (let i = 0; i < unitsInHand; i++) expect((await limiter.check('k')).leased).toBe(true)
    expect(await limiter.check('k')).toMatchObject({ degraded: 'local', remaining: 999 })
    const taken = await limiter.store.take([{ policy, key: 'k', cost: 1 }])
    expect(taken.decisions[0]).toMatchObject({ degraded: 'local', remaining: 998 })
    store.state = 'up'
  })

  it('stays synchronous on an in-process store, with the numbers of other processes', () => {
    const limiter = createLimiter({ policy, store: new MemoryStore() })
    expect(limiter.check('k')).toMatchObject({ allowed: true, remaining: 999 })
  })

  it('needs a store that can take up to a number of units', () => {
    const { takeUpTo: _, ...methods } = new FallibleStore(systemClock)
    const store = { ...methods, close() {} }
    expect(() => createLimiter({ policy, store: store as never })).toThrow(/This store has no takeUpTo/)
  })
})
