import { describe, expect, it } from 'vitest'
import {
  type AddLeases,
  createProcess,
  createWorld,
  type ProcessOptions,
  type Trip,
} from '../../test/lease-world.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import {
  fixedWindow,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import { TEST_ENVIRONMENT } from '../resilience/index.js'
import type { TakeRequest } from '../store/store.js'
import { type LeasesOptions, type LeasingStore, withLeases } from './index.js'

const addLeases: AddLeases = (store, time) => withLeases(store, { [TEST_ENVIRONMENT]: time } as LeasesOptions)

/** Ten seconds before the end of a minute. */
const START_MS = 1_800_000_050_000
const fixed = fixedWindow({ limit: 1000, window: '1m', name: 'fixed', lease: true })
const counter = slidingWindowCounter({ limit: 1000, window: '1m', name: 'counter', lease: true })
const log = slidingWindowLog({ limit: 1000, window: '1m', name: 'log', lease: true })
const bucket = tokenBucket({ capacity: 1000, refillRate: 100, name: 'bucket', lease: true })
const EACH: readonly Policy[] = [fixed, counter, log, bucket]

function setUp(options: ProcessOptions = {}) {
  const world = createWorld(START_MS)
  const process = createProcess(world, addLeases, options)
  const { calls } = process
  const store = process.store as LeasingStore

  /** Runs a call to its end. */
  async function run<T>(call: Promise<T>, ms = 0): Promise<T> {
    const ended = call.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await world.runUntil(world.nowMs() + ms)
    const end = await ended
    if ('error' in end) throw end.error
    return end.value
  }

  const one = (policy: Policy, cost = 1): TakeRequest => ({ policy, key: 'k', cost })

  return {
    world,
    process,
    store,
    run,
    one,
    check: (policy: Policy, cost = 1): Promise<Decision> => run(store.check(one(policy, cost))),
    usedOf: (policy: Policy) => policy.limit - world.memory.peek(one(policy)).remaining,
    /** The calls since the last look. */
    callsSince: () => calls.splice(0),
    /** Checks until units are leased: then `n` are in hand. */
    async warmUp(policy: Policy, checks = 10): Promise<number> {
      for (let i = 0; i < checks; i++) await run(store.check(one(policy)))
      calls.splice(0)
      return store.leases.unitsInHand
    },
  }
}

describe('busy keys', () => {
  it.each(EACH)('$algorithm: cold keys are checked at the store, one call each', async (policy) => {
    const { world, check, callsSince } = setUp()
    for (let i = 0; i < 20; i++) {
      expect(await check(policy)).not.toHaveProperty('leased')
      await world.runUntil(world.nowMs() + 101)
    }
    expect(callsSince()).toStrictEqual(Array(20).fill('check'))
  })

  it.each(EACH)(
    '$algorithm: a busy key is leased, and checked here until its units are spent',
    async (policy) => {
      const { check, callsSince, usedOf, store } = setUp()
      const decisions: Decision[] = []
      for (let i = 0; i < 50; i++) decisions.push(await check(policy))
      expect(decisions.every(({ allowed }) => allowed)).toBe(true)
      const calls = callsSince()
      // Leases of 2, 4, 7 and more units.
      expect(calls.slice(0, 3)).toStrictEqual(['check', 'takeUpTo', 'takeUpTo'])
      expect(calls.length).toBeLessThan(9)
      expect(decisions.filter(({ leased }) => leased).length).toBe(50 - calls.length)
      expect(usedOf(policy)).toBe(50 + store.leases.unitsInHand)
      expect(store.leases).toMatchObject({
        checks: 50,
        leasedChecks: 50 - calls.length,
        storeCalls: calls.length,
      })
    },
  )

  it('a lease is at most the share of this instance, and half of its part of the rest', async () => {
    const policy = fixedWindow({ limit: 1000, window: '1m', name: 'p', lease: true, instances: 5 })
    const { store, warmUp, world, check } = setUp()
    expect(await warmUp(policy, 200)).toBeLessThan(10)
    const { memory } = world
    memory.charge({ policy, key: 'k', cost: memory.peek({ policy, key: 'k', cost: 1 }).remaining - 25 })
    for (let i = 0; i < 10; i++) await check(policy)
    // One tenth of what remains.
    expect(store.leases.unitsInHand).toBeLessThan(3)
  })

  it.each([2.3, Number.NaN, Number.POSITIVE_INFINITY, -1])(
    'checks are decided if instances returns %s',
    async (instances) => {
      const store = withLeases(new MemoryStore(), { instances: () => instances })
      const policy = fixedWindow({ limit: 1000, window: '1h', name: 'p', lease: { maxAge: '1m' } })
      for (let i = 0; i < 50; i++)
        expect((await store.check({ policy, key: 'k', cost: 1 })).allowed).toBe(true)
      await store.close()
    },
  )

  it('near the limit every unit is taken one by one, and exactly the limit is admitted', async () => {
    for (const policy of EACH) {
      const { check } = setUp()
      let admitted = 0
      for (let i = 0; i < 1200; i++) if ((await check(policy)).allowed) admitted++
      expect([policy.name, admitted]).toStrictEqual([policy.name, policy.limit])
    }
  })

  it('policies without a lease go to the store as they are', async () => {
    const { check, callsSince } = setUp()
    const policy = fixedWindow({ limit: 1000, window: '1m', name: 'plain' })
    for (let i = 0; i < 20; i++) await check(policy)
    expect(callsSince()).toStrictEqual(Array(20).fill('check'))
  })
})

describe('the life of a lease', () => {
  it.each(EACH)(
    '$algorithm: ends maxAge after the call was sent, also if the response is late',
    async (policy) => {
      const trip: Trip = { thereMs: 0, backMs: 0 }
      const { world, process, warmUp, callsSince, store, run, one } = setUp({ trip: () => trip })
      await warmUp(policy, 40)
      await world.runUntil(world.nowMs() + 100)
      callsSince()
      trip.backMs = 60
      const sentMs = world.nowMs()
      for (let i = 0; i < 3; i++) void process.check(one(policy))
      await world.runUntil(sentMs + 60)
      expect(store.leases.unitsInHand).toBeGreaterThan(0)
      await world.runUntil(sentMs + 99)
      expect(await run(store.check(one(policy)))).toMatchObject({ leased: true, timeMs: sentMs + 99 })
      await world.runUntil(sentMs + 99.95)
      const late = run(store.check(one(policy)), 60)
      expect(await late).not.toHaveProperty('leased')
    },
  )

  it.each([fixed, counter])('$algorithm: ends with the window', async (policy) => {
    const { world, warmUp, check } = setUp()
    await world.runUntil(START_MS + 9950)
    expect(await warmUp(policy)).toBeGreaterThan(0)
    await world.runUntil(START_MS + 9999.9)
    expect(await check(policy)).toHaveProperty('leased')
    await world.runUntil(START_MS + 10_000)
    expect(await check(policy)).not.toHaveProperty('leased')
  })

  it.each(EACH)(
    '$algorithm: ends if the wall clock steps: the machine may have been suspended',
    async (policy) => {
      for (const [stepMs, isLeased] of [
        [99, true],
        [100, false],
        [-1, false],
        [-300_000, false],
      ] as const) {
        const { process, warmUp, check } = setUp()
        expect(await warmUp(policy)).toBeGreaterThan(0)
        process.stepClock(stepMs)
        expect([stepMs, (await check(policy)).leased]).toStrictEqual([stepMs, isLeased || undefined])
      }
    },
  )

  it.each([
    [fixed, 0],
    [counter, 0],
    [log, 0],
    [bucket, 1],
  ])('$algorithm: unspent units are given back or lapse when it ends', async (policy, isLost) => {
    const { world, warmUp, usedOf, callsSince, store } = setUp()
    const inHand = await warmUp(policy)
    expect(inHand).toBeGreaterThan(0)
    const usedBefore = usedOf(policy)
    await world.runUntil(world.nowMs() + 100)
    expect(callsSince()).toStrictEqual(isLost ? [] : ['refund'])
    const refilled = policy === bucket ? 10 : 0
    expect(usedOf(policy)).toBe(usedBefore - (isLost ? Math.min(usedBefore, refilled) : inHand))
    expect(store.leases).toMatchObject({ unitsInHand: 0, unitsLapsed: inHand })
  })

  it('units are given back in time if a longer lease of another policy is held', async () => {
    const { world, warmUp, callsSince, store } = setUp()
    const long = fixedWindow({ limit: 1000, window: '1h', name: 'long', lease: { maxAge: '60s' } })
    expect(await warmUp(long)).toBeGreaterThan(0)
    const both = await warmUp(fixed)
    await world.runUntil(world.nowMs() + 100)
    expect(callsSince()).toStrictEqual(['refund'])
    expect(store.leases.unitsInHand).toBeGreaterThan(0)
    expect(store.leases.unitsInHand).toBeLessThan(both)
    await world.runUntil(world.nowMs() + 60_000)
    expect(callsSince()).toStrictEqual(['refund'])
    expect(store.leases.unitsInHand).toBe(0)
  })

  it('close gives all units back', async () => {
    const { warmUp, usedOf, store, run } = setUp()
    await warmUp(fixed)
    await run(store.close())
    expect(usedOf(fixed)).toBe(10)
    await expect(store.check({ policy: fixed, key: 'k', cost: 1 })).rejects.toMatchObject({
      code: 'STORE_FAILED',
    })
  })
})

describe('checks while a lease is in flight', () => {
  const trip: Trip = { thereMs: 1, backMs: 1 }

  it('wait for it, and share it', async () => {
    const { world, process, warmUp, callsSince, one, store } = setUp()
    await warmUp(fixed, 40)
    await world.runUntil(world.nowMs() + 100)
    callsSince()
    for (let i = 0; i < 10; i++) void process.check(one(fixed))
    await world.runUntil(world.nowMs())
    expect(callsSince()).toStrictEqual(['takeUpTo'])
    expect(process.admissions.length).toBe(10)
    expect(store.leases.leasedChecks).toBeGreaterThanOrEqual(9)
  })

  it('call the store together if its units do not suffice', async () => {
    const policy = fixedWindow({ limit: 100, window: '1m', name: 'small', lease: true })
    const { world, process, callsSince, one } = setUp({ trip: () => trip })
    for (let i = 0; i < 4; i++) {
      void process.check(one(policy))
      await world.runUntil(world.nowMs() + 2)
    }
    callsSince()
    for (let i = 0; i < 30; i++) void process.check(one(policy))
    await world.runUntil(world.nowMs() + 4)
    // A first lease of at most 5, a second one, and plain checks: two round trips for all of them.
    expect(process.admissions.length).toBe(34)
    expect(callsSince().filter((call) => call === 'takeUpTo').length).toBeLessThanOrEqual(2)
  })

  it('are decided by the store if the call fails', async () => {
    const trips: Trip[] = []
    const { world, process, warmUp, callsSince, one } = setUp({
      trip: () => trips.shift() ?? { thereMs: 0, backMs: 0 },
    })
    await warmUp(fixed, 40)
    await world.runUntil(world.nowMs() + 100)
    callsSince()
    trips.push({ thereMs: 0, backMs: 0, isReplyLost: true })
    for (let i = 0; i < 3; i++) void process.check(one(fixed))
    await world.runUntil(world.nowMs() + 50)
    // The check that made the call fails, as it would without leases.
    expect(process.admissions.length).toBe(2)
  })
})

describe('decisions', () => {
  it('count the units in this process and those that the store had left', async () => {
    const { world, warmUp, check, usedOf } = setUp()
    const inHand = await warmUp(fixed)
    await world.runUntil(world.nowMs() + 7.5)
    expect(await check(fixed)).toStrictEqual({
      allowed: true,
      limit: 1000,
      cost: 1,
      remaining: 1000 - usedOf(fixed) + inHand - 1,
      retryAfterMs: 0,
      resetAfterMs: 10_000 - 7.5,
      delayMs: 0,
      timeMs: START_MS + 7.5,
      policy: 'fixed',
      leased: true,
      leasedAtMs: START_MS,
    })
  })

  it('a peek includes leased units, and spends none', async () => {
    const { warmUp, store, callsSince, run } = setUp()
    const inHand = await warmUp(fixed)
    expect(await run(store.peek({ policy: fixed, key: 'k', cost: 1 }))).toMatchObject({ leased: true })
    expect([store.leases.unitsInHand, callsSince()]).toStrictEqual([inHand, []])
    await run(store.peek({ policy: fixed, key: 'k', cost: inHand + 1 }))
    expect(callsSince()).toStrictEqual(['peek'])
  })

  it('rejects invalid costs, which would add to a lease', async () => {
    const { warmUp, check, store, run } = setUp()
    const inHand = await warmUp(fixed)
    for (const cost of [-5, 0, 0.5, Number.NaN, '1' as never]) {
      await expect(check(fixed, cost)).rejects.toMatchObject({ code: 'COST_INVALID' })
    }
    await expect(check(fixed, 1001)).rejects.toMatchObject({ code: 'COST_ABOVE_LIMIT' })
    await expect(store.check({ policy: fixed, key: '', cost: 1 })).rejects.toMatchObject({
      code: 'KEY_INVALID',
    })
    await expect(
      run(store.check({ policy: { ...fixed } as never, key: 'k', cost: 1 })),
    ).rejects.toMatchObject({
      code: 'POLICY_INVALID',
    })
    expect(store.leases.unitsInHand).toBe(inHand)
  })
})

describe('refunds', () => {
  const refundOf = ({ timeMs, leasedAtMs }: Decision, policy: Policy, cost = 1) => ({
    ...{ policy, key: 'k', timeMs, cost, leasedAtMs },
  })

  it.each(EACH)('$algorithm: go to the lease while it is alive', async (policy) => {
    const { warmUp, check, store, run, callsSince } = setUp()
    const inHand = await warmUp(policy)
    const decision = await check(policy)
    expect(await run(store.refund(refundOf(decision, policy)))).toBe(1)
    expect([store.leases.unitsInHand, callsSince()]).toStrictEqual([inHand, []])
  })

  it.each([
    [fixed, 1],
    [counter, 1],
    [log, 1],
    [bucket, 0],
  ])('$algorithm: go to the store with the time of the lease once it has ended', async (policy, refunded) => {
    const { world, warmUp, check, store, run, usedOf } = setUp()
    await warmUp(policy)
    await world.runUntil(world.nowMs() + 5)
    const decision = await check(policy)
    expect(decision.leasedAtMs).toBe(START_MS)
    await world.runUntil(world.nowMs() + 200)
    const usedBefore = usedOf(policy)
    expect(await run(store.refund(refundOf(decision, policy)))).toBe(refunded)
    expect(usedOf(policy)).toBe(usedBefore - refunded)
  })

  it('never exceed the spent units', async () => {
    const { warmUp, check, store, run, usedOf } = setUp()
    await warmUp(fixed)
    const decision = await check(fixed)
    await run(store.refund(refundOf(decision, fixed, 1000)))
    expect(store.leases.unitsInHand).toBeLessThanOrEqual(usedOf(fixed))
  })
})

describe('changes', () => {
  it('a reset drops the units in this process, and those in flight', async () => {
    const trip: Trip = { thereMs: 0, backMs: 0 }
    const { world, process, warmUp, usedOf, run, store, one } = setUp({ trip: () => trip })
    await warmUp(fixed)
    await run(store.reset({ policy: fixed, key: 'k' }))
    expect([store.leases.unitsInHand, usedOf(fixed)]).toStrictEqual([0, 0])
    await world.runUntil(world.nowMs() + 200)
    expect(usedOf(fixed)).toBe(0)
    await warmUp(fixed, 40)
    await world.runUntil(world.nowMs() + 100)
    // The lease is granted before the reset, and its reply comes after it.
    trip.backMs = 10
    for (let i = 0; i < 4; i++) void process.check(one(fixed))
    void store.reset({ policy: fixed, key: 'k' })
    await world.runUntil(world.nowMs() + 10)
    expect(store.leases.unitsInHand).toBe(0)
  })

  it('a block gives the units back, and denies at once', async () => {
    const { warmUp, usedOf, run, store, check, callsSince } = setUp()
    await warmUp(fixed)
    await run(Promise.resolve(store.block({ policy: fixed, key: 'k', durationMs: 1000 })))
    expect(await check(fixed)).toMatchObject({ allowed: false, reason: 'blocked' })
    expect([store.leases.unitsInHand, callsSince()]).toStrictEqual([0, ['refund', 'block', 'takeUpTo']])
    await run(store.reset({ policy: fixed, key: 'k' }))
    expect(usedOf(fixed)).toBe(0)
  })

  it('other numbers under the same name do not use earlier units', async () => {
    const { world, warmUp, check, usedOf } = setUp()
    const other = fixedWindow({ limit: 500, window: '1m', name: 'fixed', lease: true })
    const inHand = await warmUp(fixed)
    expect(inHand).toBeGreaterThan(0)
    expect(await check(other)).not.toHaveProperty('leased')
    await world.runUntil(world.nowMs() + 200)
    // Units of the new lease are given back, those of the old one are not.
    expect(usedOf(fixed)).toBe(10 + inHand + 1)
  })

  it('a reset ends a lease with a slow response, also if other keys are checked in the meantime', async () => {
    const trip: Trip = { thereMs: 0, backMs: 0 }
    const { world, process, warmUp, usedOf, run, store, one } = setUp({ trip: () => trip })
    await warmUp(fixed, 40)
    await world.runUntil(world.nowMs() + 100)
    trip.backMs = 150
    void process.check(one(fixed))
    void process.check(one(fixed))
    // When the reply arrives, checks of other keys sweep idle keys before the second check continues.
    process.here(world.nowMs() + 150, async () => {
      trip.backMs = 0
      for (let turn = 0; turn < 2; turn++) await undefined
      for (const key of ['a', 'b', 'c']) void process.check({ policy: fixed, key, cost: 1 })
    })
    await world.runUntil(world.nowMs() + 150)
    expect(store.leases.unitsInHand).toBeGreaterThan(0)
    await run(store.reset({ policy: fixed, key: 'k' }))
    await run(store.check(one(fixed)))
    await world.runUntil(world.nowMs() + 200)
    // Units from before the reset were not given back: they would be taken from the new count.
    expect(usedOf(fixed)).toBe(1)
  })
})
