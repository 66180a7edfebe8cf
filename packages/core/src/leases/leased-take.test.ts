import { describe, expect, it } from 'vitest'
import { type AddLeases, createProcess, createWorld, type Trip } from '../../test/lease-world.js'
import { fixedWindow, slidingWindowLog, tokenBucket } from '../policy/index.js'
import { TEST_ENVIRONMENT } from '../resilience/index.js'
import type { TakeResult } from '../store/store.js'
import { type LeasesOptions, type LeasingStore, withLeases } from './index.js'

const addLeases: AddLeases = (store, time) => withLeases(store, { [TEST_ENVIRONMENT]: time } as LeasesOptions)

const START_MS = 1_800_000_050_000
const everybody = fixedWindow({ limit: 1000, window: '1m', name: 'everybody', lease: true })
const user = fixedWindow({ limit: 100, window: '1m', name: 'user' })
const bucket = tokenBucket({ capacity: 1000, refillRate: 100, name: 'bucket', lease: true })

const requestsOf = (key = 'u') => [
  { policy: everybody, key: 'all', cost: 1 },
  { policy: user, key, cost: 1 },
]

function setUp() {
  const world = createWorld(START_MS)
  const trip: Trip = { thereMs: 0, backMs: 0 }
  const process = createProcess(world, addLeases, { trip: () => trip })
  const store = process.store as LeasingStore

  async function take(requests = requestsOf(), ms = 0): Promise<TakeResult> {
    const result = store.take(requests)
    // It may be rejected before it is awaited below.
    result.catch(() => {})
    await world.runUntil(world.nowMs() + ms)
    return result
  }
  const usedOf = (policy: typeof everybody, key: string) =>
    policy.limit - world.memory.peek({ policy, key, cost: 1 }).remaining
  return {
    world,
    process,
    store,
    trip,
    take,
    callsSince: () => process.calls.splice(0),
    inHand: () => store.leases.unitsInHand,
    usedByAll: () => usedOf(everybody, 'all'),
    usedByUser: (key = 'u') => usedOf(user, key),
    async warmUp(): Promise<number> {
      for (let i = 0; i < 20; i++) {
        const result = store.take(requestsOf(`w${i}`))
        await world.runUntil(world.nowMs())
        await result
      }
      process.calls.splice(0)
      return store.leases.unitsInHand
    },
  }
}

describe('a take of a leased limit and another', () => {
  it('is one call to the store, about the other limit only', async () => {
    const { warmUp, take, callsSince, usedByAll, usedByUser, inHand } = setUp()
    const before = await warmUp()
    const { allowed, decisions } = await take()
    expect(callsSince()).toStrictEqual(['take'])
    expect([allowed, decisions[0]!.leased, decisions[1]!.leased]).toStrictEqual([true, true, undefined])
    expect([usedByUser(), inHand(), usedByAll() - inHand()]).toStrictEqual([1, before - 1, 21])
  })

  it('takes nothing if the other limit denies it', async () => {
    const { world, warmUp, take, inHand } = setUp()
    const before = await warmUp()
    world.memory.charge({ policy: user, key: 'u', cost: 100 })
    const { allowed, decisions, retryAfterMs } = await take()
    expect([allowed, decisions[0]!.allowed, decisions[1]!.allowed]).toStrictEqual([false, true, false])
    expect([retryAfterMs, inHand()]).toStrictEqual([10_000, before])
  })

  it('takes nothing if the leased limit denies it, and has decisions of both limits', async () => {
    const { world, warmUp, take, usedByUser, usedByAll } = setUp()
    await warmUp()
    await world.runUntil(world.nowMs() + 100)
    world.memory.charge({ policy: everybody, key: 'all', cost: 1000 })
    const { allowed, decisions } = await take()
    expect([allowed, decisions[0]!.allowed, decisions[1]!.allowed]).toStrictEqual([false, false, true])
    expect([usedByUser(), usedByAll()]).toStrictEqual([0, 1000])
  })

  it('sums the costs of requests of one limit', async () => {
    const { warmUp, take, inHand } = setUp()
    const before = await warmUp()
    const twice = [requestsOf()[0]!, { policy: everybody, key: 'all', cost: 2 }]
    const { allowed, decisions } = await take(twice)
    expect([allowed, ...decisions.map((decision) => decision?.cost)]).toStrictEqual([true, 1, 2])
    expect(before - inHand()).toBe(3)
  })

  it('is rejected as a whole if a request is invalid', async () => {
    const { warmUp, store, inHand } = setUp()
    const before = await warmUp()
    const bad = [requestsOf()[0]!, { policy: user, key: '', cost: 1 }]
    await expect(store.take(bad)).rejects.toMatchObject({ code: 'KEY_INVALID' })
    expect(inHand()).toBe(before)
  })

  it('gives its units back if the store fails', async () => {
    const { warmUp, trip, take, inHand } = setUp()
    const before = await warmUp()
    trip.isLost = true
    await expect(take(requestsOf(), 50)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(inHand()).toBe(before)
  })
})

describe('a response after the lease has ended', () => {
  it('the store decides the leased limit too', async () => {
    const { world, warmUp, trip, take, callsSince, usedByAll, usedByUser } = setUp()
    await warmUp()
    await world.runUntil(world.nowMs() + 90)
    trip.backMs = 20
    const { allowed, decisions } = await take(requestsOf(), 60)
    expect(callsSince()).toStrictEqual(['take', 'refund', 'refund', 'take'])
    expect([allowed, decisions[0]!.leased]).toStrictEqual([true, undefined])
    // The 20 earlier ones and this one.
    expect([usedByAll(), usedByUser()]).toStrictEqual([21, 1])
  })

  it('the other limit gets its units back if the leased one denies', async () => {
    const { world, warmUp, trip, take, usedByUser } = setUp()
    await warmUp()
    await world.runUntil(world.nowMs() + 90)
    trip.backMs = 20
    world.memory.charge({ policy: everybody, key: 'all', cost: 2000 })
    const { allowed, decisions } = await take(requestsOf(), 100)
    expect([allowed, decisions[0]!.allowed, usedByUser()]).toStrictEqual([false, false, 0])
  })

  it('units of one window are not used in the next', async () => {
    const { world, warmUp, trip, take, usedByAll } = setUp()
    await world.runUntil(START_MS + 9960)
    await warmUp()
    trip.backMs = 60
    const { allowed } = await take(requestsOf(), 200)
    expect([allowed, usedByAll()]).toStrictEqual([true, 1])
  })
})

it('a reset drops units that a take has set aside, and does not refund them to the new count', async () => {
  const { world, warmUp, trip, store, usedByAll } = setUp()
  await warmUp()
  world.memory.charge({ policy: user, key: 'u', cost: 100 })
  trip.backMs = 30
  const denied = store.take(requestsOf())
  const reset = store.reset({ policy: everybody, key: 'all' })
  await world.runUntil(world.nowMs() + 40)
  await Promise.all([denied, reset])
  world.memory.charge({ policy: everybody, key: 'all', cost: 5 })
  await world.runUntil(world.nowMs() + 300)
  expect(usedByAll()).toBe(5)
})

it('a take of leased limits with units in hand makes no store call', async () => {
  const { world, store, callsSince } = setUp()
  const log = slidingWindowLog({ limit: 1000, window: '1m', name: 'log', lease: true })
  const requests = [everybody, bucket, log].map((policy) => ({ policy, key: 'all', cost: 1 }))
  for (let i = 0; i < 30; i++) {
    const result = store.take(requests)
    await world.runUntil(world.nowMs())
    expect((await result).allowed).toBe(true)
  }
  callsSince()
  const result = await store.take(requests)
  expect([result.allowed, ...result.decisions.map((decision) => decision?.leased)]).toStrictEqual([
    ...[true, true, true, true],
  ])
  expect(callsSince()).toStrictEqual([])
})
