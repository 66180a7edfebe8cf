import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { guard, guardFallible, START_MS } from '../../test/guard.js'
import { ManualClock } from '../clock.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow, type OnStoreFailure, type RatePolicy, slidingWindowLog } from '../policy/index.js'
import type { Store, TakeRequest } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'

const policies = {
  open: fixedWindow({ limit: 4, window: '1h', name: 'open', onStoreFailure: 'open', instances: 2 }),
  closed: fixedWindow({ limit: 4, window: '1h', name: 'closed', onStoreFailure: 'closed', instances: 2 }),
  local: fixedWindow({ limit: 4, window: '1h', name: 'local', onStoreFailure: 'local', instances: 2 }),
}
const MODES = ['open', 'closed', 'local'] as const

function setUp() {
  const setup = guardFallible()
  const { guarded, eventsOf } = setup
  return {
    ...setup,
    degraded: () => eventsOf('degraded').map(({ mode, reason }) => `${mode} ${reason}`),
    check: (mode: OnStoreFailure, cost = 1) => guarded.check({ policy: policies[mode], key: 'k', cost }),
    take: (...modes: OnStoreFailure[]) =>
      guarded.take(modes.map((mode) => ({ policy: policies[mode], key: 'k', cost: 1 }))),
  }
}

describe('while the store is up', () => {
  it('returns its decisions unchanged and emits no event', async () => {
    const { store, check, take, events } = setUp()
    expect(await check('local', 3)).toStrictEqual({
      ...store.memory.peek({ policy: policies.local, key: 'k', cost: 1 }),
      cost: 3,
    })
    expect(await take('open', 'closed')).toMatchObject({ allowed: true, decisions: [{ remaining: 3 }, {}] })
    expect(events).toStrictEqual([])
  })

  it('returns promises for plain values and for thrown errors', async () => {
    const { guarded } = guard(new MemoryStore())
    const call = guarded.check({ policy: policies.open, key: 'k', cost: 1 })
    expect(call).toBeInstanceOf(Promise)
    expect(await call).toMatchObject({ allowed: true, remaining: 3 })
    const invalid = guarded.check({ policy: policies.open, key: '', cost: 1 })
    await expect(invalid).rejects.toMatchObject({ code: 'KEY_INVALID' })
  })
})

describe('while the store fails', () => {
  it('open allows every request and reports no invented numbers', async () => {
    const { store, check, degraded } = setUp()
    store.state = 'failing'
    for (let i = 0; i < 100; i++) {
      expect(await check('open', 4)).toStrictEqual({
        allowed: true,
        limit: 4,
        cost: 4,
        remaining: 0,
        retryAfterMs: 0,
        resetAfterMs: 0,
        delayMs: 0,
        timeMs: START_MS,
        policy: 'open',
        degraded: 'open',
      })
    }
    expect(degraded()).toStrictEqual(Array(100).fill('open failure'))
  })

  it('closed denies every request with a time to retry', async () => {
    const { store, check, degraded } = setUp()
    store.state = 'failing'
    expect(await check('closed')).toStrictEqual({
      allowed: false,
      limit: 4,
      cost: 1,
      remaining: 0,
      retryAfterMs: 1000,
      resetAfterMs: 0,
      delayMs: 0,
      timeMs: START_MS,
      policy: 'closed',
      degraded: 'closed',
    })
    expect(degraded()).toStrictEqual(['closed failure'])
  })

  it('local allows the share of this process, and denies a cost above the share', async () => {
    const { store, check, degraded } = setUp()
    store.state = 'failing'
    const decisions = [
      await check('local', 3),
      await check('local'),
      await check('local'),
      await check('local'),
    ]
    expect(decisions.map(({ allowed }) => allowed)).toStrictEqual([false, true, true, false])
    for (const decision of decisions) {
      expect(decision).toMatchObject({ degraded: 'local' })
      expect(decision).not.toHaveProperty('reason')
    }
    expect(degraded()).toStrictEqual(Array(4).fill('local failure'))
  })

  it('carries no local counts over to the store', async () => {
    const { store, check } = setUp()
    store.state = 'failing'
    await check('local', 2)
    await check('open', 4)
    store.state = 'up'
    expect(await check('local')).toMatchObject({ remaining: 3 })
    expect(await check('open')).toMatchObject({ remaining: 3 })
  })

  it('a peek decides as a check would, and takes nothing', async () => {
    const { store, guarded, check } = setUp()
    store.state = 'failing'
    for (const mode of ['open', 'closed', 'local', 'local', 'local'] as const) {
      const peek = await guarded.peek({ policy: policies[mode], key: 'k', cost: 1 })
      expect(peek).toMatchObject({ allowed: mode !== 'closed', degraded: mode })
    }
    expect(await check('local', 2)).toMatchObject({ allowed: true })
  })

  it.each([
    ['open', ['open', 'open'], true],
    ['local', ['open', 'local'], true],
    ['closed', ['open', 'closed'], false],
    ['closed', ['closed', 'local', 'open'], false],
  ] as const)('%s is the strictest fallback for a take of %j', async (strictest, modes, allowed) => {
    const { store, take, degraded } = setUp()
    store.state = 'failing'
    const result = await take(...modes)
    expect([result.allowed, result.retryAfterMs]).toStrictEqual([allowed, allowed ? 0 : 1000])
    expect(result.decisions).toMatchObject(
      modes.map((mode) => ({ degraded: mode, allowed: mode !== 'closed' })),
    )
    expect(degraded()).toStrictEqual([`${strictest} failure`])
  })

  it('a denied take takes nothing from the local counts', async () => {
    const { store, check, take } = setUp()
    store.state = 'failing'
    for (let i = 0; i < 10; i++) await take('local', 'closed')
    expect(await check('local', 2)).toMatchObject({ allowed: true })
    expect(await take('open', 'local')).toMatchObject({
      allowed: false,
      decisions: [
        { allowed: true, degraded: 'open' },
        { allowed: false, degraded: 'local' },
      ],
    })
  })

  it('the stricter of two policies with one name applies to their common limit', async () => {
    const { store, guarded } = setUp()
    store.state = 'failing'
    const [lax, strict] = (['open', 'closed'] as const).map((onStoreFailure) => ({
      policy: slidingWindowLog({ limit: 9, window: '1m', name: 'both', onStoreFailure }),
      key: 'k',
      cost: 2,
    })) as [TakeRequest, TakeRequest]
    for (const requests of [
      [lax, strict],
      [strict, lax],
    ]) {
      expect(await guarded.take(requests)).toMatchObject({
        allowed: false,
        decisions: [
          { allowed: false, cost: 2, degraded: 'closed' },
          { allowed: false, cost: 2, degraded: 'closed' },
        ],
      })
    }
  })

  it('rejects invalid input without a degraded event', async () => {
    const { store, guarded, degraded } = setUp()
    store.state = 'failing'
    const { open: policy } = policies
    const valid = { policy, key: 'k', cost: 1 }
    for (const [invalid, code] of [
      [{ cost: 0 }, 'COST_INVALID'],
      [{ cost: 5 }, 'COST_ABOVE_LIMIT'],
      [{ key: '' }, 'KEY_INVALID'],
      [{ policy: { ...policy } }, 'POLICY_INVALID'],
    ] as const) {
      const request = { ...valid, ...invalid } as never
      await expect(guarded.check(request)).rejects.toMatchObject({ code })
      await expect(guarded.peek(request)).rejects.toMatchObject({ code })
      await expect(guarded.take([valid, request])).rejects.toMatchObject({ code })
    }
    await expect(guarded.take([])).rejects.toMatchObject({ code: 'TAKE_INVALID' })
    const aboveLimit = guarded.take([
      { ...valid, cost: 3 },
      { ...valid, cost: 2 },
    ])
    await expect(aboveLimit).rejects.toMatchObject({ code: 'COST_ABOVE_LIMIT' })
    const refund = guarded.refund({ ...valid, timeMs: START_MS, cost: 0 })
    await expect(refund).rejects.toMatchObject({ code: 'REFUND_INVALID' })
    await expect(guarded.reset({ policy, key: '' })).rejects.toMatchObject({ code: 'KEY_INVALID' })
    await expect(guarded.check(undefined as never)).rejects.toThrow(TypeError)
    expect(degraded()).toStrictEqual([])
  })

  it('a failed refund gives 0 back and is not repeated', async () => {
    const { store, guarded, check } = setUp()
    const { timeMs } = await check('open', 2)
    store.state = 'failing'
    store.methods.length = 0
    expect(await guarded.refund({ policy: policies.open, key: 'k', timeMs, cost: 2 })).toBe(0)
    expect(store.methods).toStrictEqual(['refund'])
  })

  it('a refund goes to the store or to the local counts, depending on its decision', async () => {
    const { store, guarded, check } = setUp()
    const refund = (mode: OnStoreFailure, timeMs: number, cost: number, degraded?: OnStoreFailure) =>
      guarded.refund({ policy: policies[mode], key: 'k', timeMs, cost, degraded })
    await check('local', 2)
    store.state = 'failing'
    const local = await check('local', 2)
    const open = await check('open', 2)
    store.state = 'up'
    store.methods.length = 0
    expect(await refund('local', local.timeMs, 1, local.degraded)).toBe(1)
    expect(await refund('open', open.timeMs, 2, open.degraded)).toBe(0)
    expect(await refund('closed', open.timeMs, 2, 'closed')).toBe(0)
    expect(store.methods).toStrictEqual([])
    expect(await check('local')).toMatchObject({ remaining: 1 })
    store.state = 'failing'
    expect(await check('local')).toMatchObject({ allowed: true, remaining: 0 })
  })

  it.each([
    ['open', { remaining: 0, charged: 0, overBy: 0 }],
    ['closed', { remaining: 0, charged: 0, overBy: 0 }],
    ['local', { remaining: 0, charged: 5, overBy: 3 }],
  ] as const)('a charge is allowed, and %s counts accordingly', async (mode, counted) => {
    const { store, guarded, degraded } = setUp()
    store.state = 'failing'
    const { resetAfterMs, ...decision } = await guarded.charge({ policy: policies[mode], key: 'k', cost: 5 })
    expect(decision).toStrictEqual({
      allowed: true,
      limit: 4,
      cost: 5,
      retryAfterMs: 0,
      delayMs: 0,
      timeMs: START_MS,
      policy: mode,
      degraded: mode,
      ...counted,
    })
    expect(degraded()).toStrictEqual([`${mode} failure`])
  })

  it('a local charge denies later checks, and can be refunded', async () => {
    const { store, guarded, check } = setUp()
    store.state = 'failing'
    const { timeMs, degraded } = await guarded.charge({ policy: policies.local, key: 'k', cost: 3 })
    expect(await check('local')).toMatchObject({ allowed: false, degraded: 'local' })
    expect(await guarded.refund({ policy: policies.local, key: 'k', timeMs, cost: 3, degraded })).toBe(3)
    expect(await check('local')).toMatchObject({ allowed: true })
  })

  it('an invalid charge or block rejects', async () => {
    const { store, guarded } = setUp()
    for (const state of ['up', 'failing'] as const) {
      store.state = state
      const charge = guarded.charge({ policy: policies.open, key: 'k', cost: 0 })
      await expect(charge).rejects.toMatchObject({ code: 'CHARGE_INVALID' })
      const block = guarded.block({ policy: policies.open, key: 'k', durationMs: 0 })
      await expect(block).rejects.toMatchObject({ code: 'BLOCK_INVALID' })
    }
  })

  it('a block rejects', async () => {
    const { store, guarded, check } = setUp()
    store.state = 'failing'
    const block = () => guarded.block({ policy: policies.open, key: 'k', durationMs: 1000 })
    await expect(block()).rejects.toMatchObject({ code: 'STORE_FAILED' })
    store.state = 'up'
    await block()
    expect(await check('open')).toMatchObject({ allowed: false, reason: 'blocked' })
  })

  it('local counts block a key for the blockFor of its policy, and count denied requests', async () => {
    const { store, guarded, pass } = setUp()
    store.state = 'failing'
    const options = { limit: 4, window: '1h', onStoreFailure: 'local', instances: 2 } as const
    const blocking = fixedWindow({ ...options, blockFor: '1m', name: 'blocking' })
    const counting = slidingWindowLog({ ...options, countDenied: true, name: 'counting' })
    const check = (policy: RatePolicy) => guarded.check({ policy, key: 'k', cost: 2 })
    for (const policy of [blocking, counting]) await check(policy)
    expect(await guarded.check({ policy: blocking, key: 'k', cost: 1 })).toMatchObject({ reason: 'blocked' })
    await pass(1_800_000)
    expect(await check(counting)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 })
  })

  it('a failed reset rejects, and still resets the local count', async () => {
    const { store, guarded, check } = setUp()
    store.state = 'failing'
    await check('local', 2)
    const { local: policy } = policies
    await expect(guarded.reset({ policy, key: 'k' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await check('local')).toMatchObject({ allowed: true, remaining: 1 })
    store.state = 'up'
    await guarded.reset({ policy, key: 'k' })
    store.state = 'failing'
    expect(await check('local', 2)).toMatchObject({ allowed: true })
  })

  it('an operation that the store does not have rejects, and does not count as a failure', async () => {
    const { check, take, peek, refund, reset, close } = new FallibleStore(new ManualClock(START_MS))
    const { guarded, events } = guard({ check, take, peek, refund, reset, close })
    const request = { policy: policies.open, key: 'k', cost: 1, durationMs: 1000 }
    for (const call of [() => guarded.charge(request), () => guarded.block(request)]) {
      await expect(call()).rejects.toMatchObject({ code: 'OPERATION_UNSUPPORTED', field: 'store' })
    }
    expect(events).toStrictEqual([])
  })

  it.each([new TypeError('broken'), undefined, { code: 'ECONNRESET' }])(
    'treats an unknown error as a failure: %s',
    async (error) => {
      const { guarded, eventsOf } = guard({ check: () => Promise.reject(error) } as unknown as Store)
      const decision = await guarded.check({ policy: policies.open, key: 'k', cost: 1 })
      expect(decision).toMatchObject({ allowed: true, degraded: 'open' })
      expect(eventsOf('degraded')).toHaveLength(1)
    },
  )

  it('rejects every call after close', async () => {
    const { guarded, check } = setUp()
    await guarded.close()
    for (const mode of MODES) {
      await expect(check(mode)).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'closed' })
    }
    await expect(guarded.close()).resolves.toBeUndefined()
  })
})

describe('under overload', () => {
  /** A store that reports overload, as a full queue in front of it does. */
  function setUpOverloaded() {
    const overloaded = () => Promise.reject(storeFailed('overload', 'queue is full'))
    const store = { check: overloaded, take: overloaded, peek: overloaded, charge: overloaded }
    return guard(store as unknown as Store)
  }

  it.each(MODES)('a charge under a policy that is %s on failure counts in this process', async (mode) => {
    const { guarded } = setUpOverloaded()
    const charge = await guarded.charge({ policy: policies[mode], key: 'k', cost: 3 })
    expect(charge).toMatchObject({ degraded: 'local', reason: 'overload', charged: 3, overBy: 1 })
  })

  it.each(MODES)('a policy that is %s on failure counts in this process', async (mode) => {
    const { guarded, events, eventsOf } = setUpOverloaded()
    const request = { policy: policies[mode], key: 'k', cost: 1 }
    const decisions = await Promise.all(Array.from({ length: 1000 }, () => guarded.check(request)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
    for (const decision of decisions) {
      expect(decision).toMatchObject({ degraded: 'local', reason: 'overload' })
    }
    expect(await guarded.peek(request)).toMatchObject({
      allowed: false,
      degraded: 'local',
      reason: 'overload',
    })
    expect(events[0]).toStrictEqual({ type: 'overload', isOverloaded: true })
    expect(events.slice(1)).toStrictEqual(
      Array(1001).fill({ type: 'degraded', mode: 'local', reason: 'overload' }),
    )
    expect([eventsOf('overload').length, guarded.breakerState]).toStrictEqual([1, 'closed'])
  })

  it('a take counts all its limits in this process', async () => {
    const { guarded, eventsOf } = setUpOverloaded()
    const requests = MODES.map((mode) => ({ policy: policies[mode], key: 'k', cost: 1 }))
    for (const allowed of [true, true, false]) {
      expect(await guarded.take(requests)).toMatchObject({
        allowed,
        decisions: MODES.map(() => ({ allowed, degraded: 'local', reason: 'overload' })),
      })
    }
    expect(eventsOf('degraded')).toStrictEqual(
      Array(3).fill({ type: 'degraded', mode: 'local', reason: 'overload' }),
    )
  })

  it('a refund of a decision goes to the local count', async () => {
    const { guarded } = setUpOverloaded()
    const request = { policy: policies.closed, key: 'k', cost: 2 }
    const { timeMs, degraded } = await guarded.check(request)
    expect(await guarded.check(request)).toMatchObject({ allowed: false })
    expect(await guarded.refund({ ...request, timeMs, degraded })).toBe(2)
    expect(await guarded.check(request)).toMatchObject({ allowed: true })
  })
})
