import { describe, expect, it } from 'vitest'
import { guard, guardFallible } from '../../test/guard.js'
import { settle } from '../../test/manual-timers.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { concurrency, fixedWindow } from '../policy/index.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }
const overloaded = { degraded: 'local', reason: 'overload' }

describe('the bound on requests in flight', () => {
  it('decides the excess without the store, and calls the store again after a reply', async () => {
    const { store, guarded, timers } = guardFallible({ maxInFlight: 3 })
    const { timeMs } = await guarded.check(request)
    store.methods.length = 0
    store.state = 'hanging'
    const calls = [guarded.check(request), guarded.peek(request), guarded.reset(request)]
    expect(await guarded.check(request)).toMatchObject(overloaded)
    expect((await guarded.take([request])).decisions).toMatchObject([overloaded])
    expect(await guarded.peek(request)).toMatchObject(overloaded)
    expect(await guarded.refund({ ...request, timeMs })).toBe(0)
    await expect(guarded.reset(request)).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'overload' })
    expect(store.methods).toStrictEqual(['check', 'peek', 'reset'])
    expect(timers.now()).toBe(0)
    store.deliver()
    await Promise.all(calls)
    store.state = 'up'
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
  })

  it('is twice as high for slots that are renewed or released: a flood of checks must not keep them taken', async () => {
    const { store, guarded } = guardFallible({ maxInFlight: 2 })
    const slots = concurrency({ limit: 1, name: 'slots' })
    const { id } = await guarded.check({ policy: slots, key: 'k', cost: 1 })
    store.state = 'hanging'
    const checks = [guarded.check(request), guarded.check(request)]
    expect(await guarded.check(request)).toMatchObject(overloaded)
    const held = [{ policy: slots, key: 'k', id: id! }]
    const calls = [guarded.renew(held), guarded.release(held)]
    await expect(guarded.release(held)).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'overload' })
    store.deliver()
    expect(await Promise.all(calls)).toStrictEqual([[true], [true]])
    await Promise.all(checks)
  })

  it('does not count calls that have failed', async () => {
    const { store, guarded } = guardFallible({ maxInFlight: 1 })
    store.state = 'failing'
    for (let i = 0; i < 3; i++) expect(await guarded.check(request)).toMatchObject({ degraded: 'open' })
    store.state = 'up'
    for (let i = 0; i < 3; i++) {
      await expect(guarded.check({ ...request, cost: -1 })).rejects.toMatchObject({ code: 'COST_INVALID' })
    }
    expect(await guarded.check(request)).toMatchObject({ remaining: 999 })
  })

  it('does not count calls that have timed out, also when their replies arrive later', async () => {
    const { store, guarded, pass } = guardFallible({ maxInFlight: 1 })
    await guarded.check(request)
    store.state = 'hanging'
    const late = guarded.check(request)
    await pass(50)
    expect(await late).toMatchObject({ degraded: 'open' })
    const next = guarded.check(request)
    store.deliver()
    expect(await next).not.toHaveProperty('degraded')
    const hanging = guarded.check(request)
    expect(await guarded.check(request)).toMatchObject(overloaded)
    store.deliver()
    await hanging
  })

  it('counts each request of a take, and accepts a take of any length while there is room', async () => {
    const { store, guarded } = guardFallible({ maxInFlight: 3 })
    store.state = 'hanging'
    const long = guarded.take(Array.from({ length: 10 }, () => request))
    expect(await guarded.check(request)).toMatchObject(overloaded)
    store.deliver()
    expect(await long).toMatchObject({ allowed: true })
    const two = guarded.take([request, request])
    const one = guarded.check(request)
    expect(await guarded.check(request)).toMatchObject(overloaded)
    store.deliver()
    await Promise.all([one, two])
    await settle()
    store.state = 'up'
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
  })

  it('does not count calls that return or throw at once', async () => {
    const { guarded } = guard(new MemoryStore(), { maxInFlight: 1 })
    for (let i = 0; i < 10; i++) expect(await guarded.check(request)).not.toHaveProperty('degraded')
    for (let i = 0; i < 10; i++) await expect(guarded.check({ ...request, key: '' })).rejects.toThrow('key')
    for (let i = 0; i < 10; i++) await expect(guarded.take('text' as never)).rejects.toThrow('A take needs')
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
  })
})
