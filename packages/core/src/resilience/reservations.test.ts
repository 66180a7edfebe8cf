import { describe, expect, it } from 'vitest'
import { guard, guardFallible } from '../../test/guard.js'
import { withDenialCache } from '../denial-cache/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow, type OnStoreFailure, type RatePolicy } from '../policy/index.js'
import type { Store } from '../store/store.js'

const policies = {
  open: fixedWindow({ limit: 10, window: '1h', name: 'open', onStoreFailure: 'open', instances: 2 }),
  closed: fixedWindow({ limit: 10, window: '1h', name: 'closed', onStoreFailure: 'closed', instances: 2 }),
  local: fixedWindow({ limit: 10, window: '1h', name: 'local', onStoreFailure: 'local', instances: 2 }),
}
const UNKNOWN = { settled: false, reason: 'unknown' }

function setUp() {
  const setup = guardFallible()
  const { guarded, store, pass } = setup
  return {
    ...setup,
    reserve: (mode: OnStoreFailure, cost: number, id = 'a') =>
      guarded.reserve([{ policy: policies[mode], key: 'k', cost }], { id }),
    settle: (mode: OnStoreFailure, actual: number, id = 'a') =>
      guarded.settle([{ policy: policies[mode], key: 'k' }], id, [actual]),
    /** The units of a limit that remain in the store itself. */
    left: (policy: RatePolicy) => store.memory.peek({ policy, key: 'k', cost: 1 }).remaining,
    /** A reserve that the store executes without answering in time. */
    async timedOut(mode: OnStoreFailure, cost: number, id = 'a') {
      // The store has answered before, so the deadline is short.
      await guarded.peek({ policy: policies[mode], key: 'k', cost: 1 })
      store.state = 'hanging'
      const pending = guarded.reserve([{ policy: policies[mode], key: 'k', cost }], { id })
      await pass(50)
      store.state = 'up'
      return pending
    },
  }
}

describe('a degraded reserve', () => {
  it('open: is allowed and reserves nothing, and is settled at the store by its id', async () => {
    const { timedOut, left } = setUp()
    const reservation = await timedOut('open', 6)
    expect(reservation).toMatchObject({ id: 'a', allowed: true })
    expect(reservation.decisions[0]).toMatchObject({
      degraded: 'open',
      id: 'a',
      cost: 6,
      reserved: 0,
      remaining: 0,
    })
    expect(left(policies.open)).toBe(4)
    expect(await reservation.settle([2])).toStrictEqual([
      { settled: true, refunded: 4, charged: 0, overBy: 0 },
    ])
    expect(left(policies.open)).toBe(8)
  })

  it('open: settled before the store has executed it, it takes nothing afterwards', async () => {
    const { store, reserve, left } = setUp()
    store.state = 'failing'
    const reservation = await reserve('open', 6)
    expect(reservation.allowed).toBe(true)
    store.state = 'up'
    expect(await reservation.settle([2])).toStrictEqual([UNKNOWN])
    await expect(reserve('open', 6)).rejects.toMatchObject({ code: 'RESERVATION_ID_USED' })
    expect(left(policies.open)).toBe(10)
  })

  it('closed: is denied, and is cancelled at the store by its id', async () => {
    const { timedOut, left } = setUp()
    const reservation = await timedOut('closed', 6)
    expect(reservation).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(reservation.decisions[0]).toMatchObject({ degraded: 'closed', reserved: 0 })
    expect(left(policies.closed)).toBe(4)
    expect(await reservation.cancel()).toStrictEqual([{ settled: true, refunded: 6, charged: 0, overBy: 0 }])
    expect(left(policies.closed)).toBe(10)
  })

  it('repeated by its id after a timeout, it has been charged once', async () => {
    const { timedOut, reserve, left } = setUp()
    await timedOut('closed', 6)
    const again = await reserve('closed', 6)
    expect(again).toMatchObject({ allowed: true, repeated: true })
    expect(again.decisions[0]).toMatchObject({ reserved: 6, remaining: 4 })
    expect(left(policies.closed)).toBe(4)
  })

  it('local: is reserved and settled in this process, from its share', async () => {
    const { store, reserve, guarded } = setUp()
    store.state = 'failing'
    const reservation = await reserve('local', 4)
    expect(reservation.decisions[0]).toMatchObject({
      degraded: 'local',
      limit: 10,
      reserved: 4,
      remaining: 1,
    })
    expect((await reserve('local', 2, 'b')).allowed).toBe(false)
    expect(await reservation.settle([1])).toStrictEqual([
      { settled: true, refunded: 3, charged: 0, overBy: 0 },
    ])
    const look = await guarded.peek({ policy: policies.local, key: 'k', cost: 1 })
    expect(look).toMatchObject({ degraded: 'local', remaining: 4 })
  })

  it('local: units above the share wait for the store', async () => {
    const { store, reserve } = setUp()
    store.state = 'failing'
    const denied = await reserve('local', 6)
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(denied.decisions[0]).toMatchObject({ degraded: 'local', reserved: 0 })
  })

  it('local: a reserve that the store charged without an answer is settled there too', async () => {
    const { timedOut, left, timers } = setUp()
    const reservation = await timedOut('local', 4)
    expect([reservation.decisions[0]?.degraded, left(policies.local)]).toStrictEqual(['local', 6])
    await reservation.settle([1])
    await timers.pass(0)
    expect(left(policies.local)).toBe(9)
  })

  it('of several limits is allowed if each of them is, and settles each where it was counted', async () => {
    const { store, guarded, pass } = setUp()
    const both = [policies.open, policies.local].map((policy) => ({ policy, key: 'k', cost: 4 }))
    store.state = 'failing'
    const reservation = await guarded.reserve(both)
    expect(reservation.decisions.map((decision) => [decision?.degraded, decision?.reserved])).toStrictEqual([
      ['open', 0],
      ['local', 4],
    ])
    store.state = 'up'
    const settling = reservation.settle([2, 2])
    await pass(1000)
    expect(await settling).toStrictEqual([UNKNOWN, { settled: true, refunded: 2, charged: 0, overBy: 0 }])
    const strict = await guarded.reserve([...both, { policy: policies.closed, key: 'k', cost: 4 }])
    expect(strict.allowed).toBe(true)
  })

  it('stays denied while the denial of its key is cached', async () => {
    const { guarded, store, environment } = guardFallible()
    const { clock } = environment
    const cached = withDenialCache(store, { now: () => clock.nowMs() })
    const { guarded: guardedCache } = guard(cached, {}, environment)
    await guardedCache.check({ policy: policies.open, key: 'k', cost: 10 })
    await guardedCache.check({ policy: policies.open, key: 'k', cost: 1 })
    store.state = 'failing'
    const denied = await guardedCache.reserve([{ policy: policies.open, key: 'k', cost: 3 }], { id: 'a' })
    expect(denied).toMatchObject({
      id: 'a',
      allowed: false,
      decisions: [{ allowed: false, reserved: 0, cost: 3 }],
    })
    expect((await guarded.reserve([{ policy: policies.open, key: 'other', cost: 3 }])).allowed).toBe(true)
  })

  it('stays denied by the cached denial of one of its limits, also with a second cache around it', async () => {
    const { store, environment } = guardFallible()
    const now = () => environment.clock.nowMs()
    const inner = guard(withDenialCache(store, { now }), {}, environment).guarded
    const outer = withDenialCache(inner, { now })
    await inner.check({ policy: policies.open, key: 'k', cost: 10 })
    await inner.check({ policy: policies.open, key: 'k', cost: 1 })
    store.state = 'failing'
    const requests = [policies.open, policies.closed].map((policy) => ({ policy, key: 'k', cost: 3 }))
    expect(await outer.reserve(requests)).toMatchObject({
      allowed: false,
      decisions: [{ allowed: false }, undefined],
    })
  })
})

describe('a settlement', () => {
  it('is sent again when the store fails, and succeeds once', async () => {
    const { store, reserve, settle, pass, left } = setUp()
    await reserve('open', 6)
    store.state = 'failing'
    const settling = settle('open', 2)
    await pass(50)
    store.state = 'up'
    await pass(1000)
    expect(await settling).toStrictEqual([{ settled: true, refunded: 4, charged: 0, overBy: 0 }])
    expect(left(policies.open)).toBe(8)
  })

  it('is repeated after a lost response, and gives back once', async () => {
    const { store, reserve, settle, pass, left } = setUp()
    await reserve('open', 6)
    store.state = 'hanging'
    const settling = settle('open', 2)
    await pass(50)
    store.state = 'up'
    await pass(1000)
    expect(await settling).toStrictEqual([{ settled: false, reason: 'ended' }])
    expect(left(policies.open)).toBe(8)
  })

  it('rejects with STORE_FAILED after three attempts', async () => {
    const { store, reserve, settle, pass, left } = setUp()
    await reserve('open', 6)
    store.state = 'failing'
    const settling = settle('open', 2).catch((error) => error)
    await pass(1000)
    expect(await settling).toMatchObject({ code: 'STORE_FAILED' })
    expect(store.methods.filter((method) => method === 'settle').length).toBeLessThanOrEqual(3)
    expect(left(policies.open)).toBe(4)
  })

  it('that is invalid is rejected at once', async () => {
    const { settle } = setUp()
    await expect(settle('open', -1)).rejects.toMatchObject({ code: 'RESERVATION_INVALID' })
  })
})

it('a store without reserve rejects it with the name of the method', async () => {
  const memory = new MemoryStore()
  const { check, take, peek, refund, reset, close } = memory
  const basic = { check, take, peek, refund, reset, close } as unknown as Store
  const { guarded } = guard(basic)
  const reserving = guarded.reserve([{ policy: policies.open, key: 'k', cost: 1 }])
  await expect(reserving).rejects.toMatchObject({ code: 'OPERATION_UNSUPPORTED' })
  await expect(reserving).rejects.toThrow('reserve()')
})
