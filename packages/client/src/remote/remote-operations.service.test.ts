import {
  concurrency,
  createLimiter,
  fixedWindow,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { describe, expect, it } from 'vitest'
import { recordingFetch } from '../../test/calls.js'
import { serve } from '../../test/http-server.js'
import { policiesYaml, useService } from '../../test/service.js'
import type { Fetch } from '../fetch.js'
import { createRemoteLimiter } from './remote-limiter.js'
import { createRemoteStore } from './remote-store.js'

// Reservations, refunds and slots with the real service. Windows last for a year: no unit becomes available again.

const rates: Policy[] = [
  fixedWindow({ limit: 1000, window: '366d', name: 'fixed' }),
  slidingWindowLog({ limit: 1000, window: '366d', name: 'log' }),
  slidingWindowCounter({ limit: 1000, window: '366d', name: 'counter' }),
  tokenBucket({ capacity: 1000, refillRate: '1/30d', name: 'token' }),
]
const fixed = rates[0]!
const reports = concurrency({ limit: 2, ttl: '30s', name: 'reports' })
const brief = concurrency({ limit: 1, ttl: '1s', name: 'brief' })

const YAML = `
adminToken: the-admin-token-1
${policiesYaml([...rates, reports, brief])}
`

const service = useService(YAML)

const allPermissions = () => ({ url: service().url, adminToken: 'the-admin-token-1', deadlineMs: 5000 })
let keys = 0
const newKey = () => `team:${++keys}`

/** A fetch that loses the first responses to an operation, after the service has executed it. */
function fetchWithLosses(operation: string, times: number): { fetch: Fetch; losses: () => number } {
  let losses = 0
  return {
    losses: () => losses,
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (!String(input).endsWith(`/${operation}`) || losses === times) return response
      losses++
      await response.text()
      throw new TypeError('the connection was lost')
    },
  }
}

describe('reserves like a limiter in this process:', () => {
  it.each(rates)('$algorithm', async (policy) => {
    const key = newKey()
    const [local, remote] = [createLimiter({ policy }), createRemoteLimiter({ ...allPermissions(), policy })]
    for (const limiter of [local, remote]) {
      const first = await limiter.reserve(key, 400, { id: 'a', ttl: '1h' })
      expect(first).toMatchObject({ allowed: true, id: 'a', reserved: 400, remaining: 600, cost: 400 })
      expect(await limiter.reserve(key, 400, { id: 'a' })).toMatchObject({ repeated: true, remaining: 600 })
      expect(await first.settle(150)).toStrictEqual({ settled: true, refunded: 250, charged: 0, overBy: 0 })
      expect(await first.settle(150)).toStrictEqual({ settled: false, reason: 'ended' })
      expect((await limiter.peek(key)).remaining).toBe(850)
      const second = await limiter.reserve(key, 800)
      expect(await limiter.settle(key, second.id, 1000)).toStrictEqual({
        settled: true,
        refunded: 0,
        charged: 200,
        overBy: 150,
      })
      const denied = await limiter.reserve(key, 1)
      expect(denied).toMatchObject({ allowed: false, reserved: 0 })
      expect(denied.retryAfterMs).toBeGreaterThan(0)
      expect(await limiter.cancel(key, 'unknown')).toStrictEqual({ settled: false, reason: 'unknown' })
    }
  })

  it('with the name of a policy alone', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'fixed' })
    const key = newKey()
    const reservation = await limiter.reserve(key, 5000)
    expect(reservation).toMatchObject({ allowed: true, limit: 1000, reserved: 1000, remaining: 0 })
    expect(await reservation.cancel()).toMatchObject({ settled: true, refunded: 1000 })
    expect((await limiter.peek(key)).remaining).toBe(1000)
  })

  it('settles at the reserved units at the end of an await using block', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: fixed })
    const key = newKey()
    const reservation = await limiter.reserve(key, 10)
    await reservation[Symbol.asyncDispose]()
    expect(await limiter.cancel(key, reservation.id)).toStrictEqual({ settled: false, reason: 'ended' })
    expect((await limiter.peek(key)).remaining).toBe(990)
  })

  it('settles at the units reserved by the service at the end of an await using block', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'fixed' })
    const key = newKey()
    const reservation = await limiter.reserve(key, 5000)
    await reservation[Symbol.asyncDispose]()
    // Without a debt, one unit that is given back can be taken.
    expect(await limiter.store.refund({ policy: fixed, key, timeMs: reservation.timeMs, cost: 1 })).toBe(1)
    expect((await limiter.peek(key)).remaining).toBe(1)
  })
})

describe('a response that is lost', () => {
  it('to a reserve: the same id reserves once', async () => {
    const { fetch, losses } = fetchWithLosses('reserve', 1)
    const store = createRemoteStore({ ...allPermissions(), fetch })
    const request = [{ policy: fixed, key: newKey(), cost: 10 }]
    await expect(store.reserve(request, { id: 'once' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await store.reserve(request, { id: 'once' })).toMatchObject({ allowed: true, repeated: true })
    expect(losses()).toBe(1)
    expect(await store.peek(request[0]!)).toMatchObject({ remaining: 990 })
  })

  it('to a settle: it is sent again, and gives back once', async () => {
    const { fetch, losses } = fetchWithLosses('settle', 2)
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: fixed, fetch })
    const key = newKey()
    const reservation = await limiter.reserve(key, 100)
    expect(await reservation.settle(40)).toStrictEqual({ settled: false, reason: 'ended' })
    expect(losses()).toBe(2)
    expect((await limiter.peek(key)).remaining).toBe(960)
  })

  it('to an acquire: its slot is released', async () => {
    const { fetch } = fetchWithLosses('acquire', 1)
    // Its slots last longer than the test.
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: reports, fetch })
    const key = newKey()
    const degraded = await limiter.acquire(key)
    expect(degraded).toMatchObject({ allowed: true, degraded: 'open' })
    const other = createRemoteLimiter({ ...allPermissions(), policy: reports })
    await expect.poll(async () => (await other.peek(key)).remaining).toBe(2)
  })
})

it.each(rates)('refunds a check: $algorithm', async (policy) => {
  const limiter = createRemoteLimiter({ ...allPermissions(), policy })
  const key = newKey()
  const first = await limiter.check(key, 10)
  const together = await Promise.all([limiter.check(key, 10), limiter.check(key, 10)])
  expect(await limiter.refund(key, first, 4)).toBe(4)
  expect(await limiter.refund(key, together[1]!)).toBe(10)
  await expect(limiter.refund(key, first, 7)).rejects.toMatchObject({ code: 'REFUND_INVALID' })
  expect((await limiter.peek(key)).remaining).toBe(1000 - 16)
})

describe('slots', () => {
  it('are acquired up to the limit, and released', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: reports })
    const key = newKey()
    const slots = [await limiter.acquire(key), await limiter.acquire(key)]
    expect(slots).toMatchObject([
      { allowed: true, remaining: 1, limit: 2 },
      { allowed: true, remaining: 0 },
    ])
    expect(await limiter.acquire(key)).toMatchObject({ allowed: false, reason: 'slot' })
    expect(await slots[0]!.release()).toBe(true)
    await using third = await limiter.acquire(key)
    expect(third.allowed).toBe(true)
    expect(await slots[1]!.release()).toBe(true)
  })

  it('are renewed for as long as they are held, in one call', async () => {
    const { fetch, calls } = recordingFetch()
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: brief, fetch })
    const [a, b] = [newKey(), newKey()]
    const startMs = performance.now()
    const slots = [await limiter.acquire(a), await limiter.acquire(b)]
    const renewals = () => calls.filter(({ path }) => path === 'renew')
    // Each is a third of the ttl after the last: the slots would have expired.
    await until('four renewals', () => renewals().length >= 4)
    const due = (performance.now() - startMs) / (1000 / 3)
    expect(renewals().length).toBeLessThanOrEqual(due * 1.5 + 2)
    expect((await limiter.acquire(a)).allowed).toBe(false)
    expect((renewals().at(-1)!.body as { slots: unknown[] }).slots).toHaveLength(2)
    for (const slot of slots) {
      expect(slot.signal.aborted).toBe(false)
      expect(await slot.release()).toBe(true)
    }
    expect((await limiter.acquire(a)).allowed).toBe(true)
  })

  it('are renewed in time for the ttl of the service, if that is shorter', async () => {
    const policy = concurrency({ limit: 1, ttl: '30s', name: 'brief' })
    const limiter = createRemoteLimiter({ ...allPermissions(), policy })
    const key = newKey()
    const slot = await limiter.acquire(key)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect((await limiter.acquire(key)).allowed).toBe(false)
    expect(await slot.release()).toBe(true)
  })

  it('abort their signal once the service no longer has them', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: brief })
    const key = newKey()
    const slot = await limiter.acquire(key)
    await limiter.reset(key)
    await expect.poll(() => slot.signal.aborted, { timeout: 5000 }).toBe(true)
    expect(slot.signal.reason).toMatchObject({ code: 'SLOT_LOST' })
    expect(await slot.release()).toBe(false)
  })

  it('need the numbers of their policy', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'reports' })
    await expect(limiter.acquire('k')).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'policy' })
    const rate = createRemoteLimiter({ ...allPermissions(), policy: fixed })
    await expect(rate.acquire('k')).rejects.toMatchObject({ code: 'OPERATION_UNSUPPORTED' })
  })

  it('are not taken together with other limits', async () => {
    const store = createRemoteStore(allPermissions())
    const key = newKey()
    const slot = { policy: reports, key, cost: 1 }
    await expect(store.take([slot, { policy: fixed, key, cost: 1 }])).rejects.toMatchObject({
      code: 'OPERATION_UNSUPPORTED',
    })
    const taken = await store.take([slot, slot])
    expect(taken).toMatchObject({ allowed: true, decisions: [{ remaining: 1 }, { remaining: 1 }] })
    expect(await store.release([{ policy: reports, key, id: taken.decisions[0]!.id! }])).toStrictEqual([true])
  })
})

describe('invalid input', () => {
  it('has its code', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: fixed })
    const key = newKey()
    await expect(limiter.reserve(key, 0)).rejects.toMatchObject({ code: 'RESERVATION_INVALID' })
    await expect(limiter.reserve(key, 1, { ttl: '1ms' })).rejects.toMatchObject({ field: 'ttl' })
    await expect(limiter.settle(key, 'a', -1)).rejects.toMatchObject({ code: 'RESERVATION_INVALID' })
    await limiter.reserve(key, 5, { id: 'used' })
    await expect(limiter.reserve(key, 6, { id: 'used' })).rejects.toMatchObject({
      code: 'RESERVATION_ID_USED',
      field: 'id',
    })
    const leaky = createRemoteLimiter({ ...allPermissions(), policy: 'leaky_bucket' })
    await expect(leaky.reserve(key, 1)).rejects.toMatchObject({ field: 'policy' })
  })

  it('several limits cannot be reserved together', async () => {
    const limits = rates.map((policy) => ({ policy, key: 'k', cost: 1 }))
    await expect(createRemoteStore(allPermissions()).reserve(limits)).rejects.toMatchObject({
      code: 'OPERATION_UNSUPPORTED',
    })
  })
})

describe('without the service', () => {
  const down = { url: 'http://127.0.0.1:1' }

  it('reserves according to onStoreFailure; a settlement rejects', async () => {
    for (const onStoreFailure of ['open', 'closed'] as const) {
      const limiter = createRemoteLimiter({ ...down, policy: fixed, onStoreFailure })
      const reservation = await limiter.reserve('k', 10)
      expect(reservation).toMatchObject({ allowed: onStoreFailure === 'open', degraded: onStoreFailure })
      await expect(reservation.settle(5)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    }
    const local = createRemoteLimiter({ ...down, policy: fixed, onStoreFailure: 'local' })
    const reservation = await local.reserve('k', 1000)
    expect(reservation).toMatchObject({ allowed: true, degraded: 'local', reserved: 1000 })
    expect((await local.reserve('k', 1)).allowed).toBe(false)
    expect(await reservation.settle(400)).toMatchObject({ settled: true, refunded: 600 })
  })

  it('has a limit of 0 if it does not know the numbers', async () => {
    const limiter = createRemoteLimiter({ ...down, policy: 'fixed' })
    expect(await limiter.reserve('k', 10)).toMatchObject({ allowed: true, degraded: 'open', limit: 0 })
  })

  it('acquires according to onStoreFailure, without a slot', async () => {
    for (const onStoreFailure of ['open', 'closed'] as const) {
      const limiter = createRemoteLimiter({ ...down, policy: reports, onStoreFailure })
      const slot = await limiter.acquire('k')
      expect(slot).toMatchObject({ allowed: onStoreFailure === 'open', degraded: onStoreFailure })
      expect(await slot.release()).toBe(false)
    }
  })

  it('refunds nothing', async () => {
    const limiter = createRemoteLimiter({ ...down, policy: fixed })
    const decision = await createRemoteLimiter({ ...allPermissions(), policy: fixed }).check(newKey())
    expect(await limiter.refund('k', decision)).toBe(0)
  })
})

it('rejects an operation that the version of the service does not have', async () => {
  const { url } = await serve((_received, response) => {
    response.statusCode = 404
    response.end(JSON.stringify({ error: 'not_found', message: 'No such route.' }))
  })
  const limiter = createRemoteLimiter({ url, policy: fixed, deadlineMs: 5000 })
  await expect(limiter.reserve('k', 1)).rejects.toMatchObject({ code: 'OPERATION_UNSUPPORTED' })
})
