import { deepStrictEqual } from 'node:assert'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import {
  ALGORITHM_NAMES,
  definePolicy,
  fixedWindow,
  type Policy,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import type { Call, ResetRequest, Store, TakeRequest, TakeResult } from '../store/store.js'
import { ReferenceStore, randomTrace, runTrace, testStore } from '../testing/index.js'
import { type DenialCacheOptions, type DenialCachingStore, withDenialCache } from './index.js'

const START_MS = 1_800_000_000_000
const hour = fixedWindow({ limit: 10, window: '1h', name: 'hour' })
const bucket = tokenBucket({ capacity: 10, refillRate: 10, name: 'bucket' })
const other = fixedWindow({ limit: 100, window: '1h', name: 'other' })

/** A cached store on two manual clocks, with a list of the calls to the store behind the cache. */
function setUp(options: DenialCacheOptions = {}) {
  const wall = new ManualClock(START_MS)
  // A monotonic clock may start at any value.
  const monotonic = new ManualClock(123.456)
  const memory = new MemoryStore({ clock: wall })
  const sent: string[] = []
  const counting: DenialCachingStore = {
    check: (request) => record('check', [request], () => memory.check(request)),
    take: (requests) => record('take', requests, () => memory.take(requests)),
    peek: (request) => record('peek', [request], () => memory.peek(request)),
    refund: (request) => record('refund', [request], () => memory.refund(request)),
    reset: (request) => record('reset', [request], () => memory.reset(request)),
    charge: (request) => record('charge', [request], () => memory.charge(request)),
    block: (request) => record('block', [request], () => memory.block(request)),
    takeUpTo: (request) => record('takeUpTo', [request], () => memory.takeUpTo(request)),
    reserve: (requests, options) => record('reserve', requests, () => memory.reserve(requests, options)),
    settle: (requests, id, actual) => record('settle', requests, () => memory.settle(requests, id, actual)),
    release: (slots) => record('release', slots, () => memory.release(slots)),
    renew: (slots) => record('renew', slots, () => memory.renew(slots)),
    close: () => memory.close(),
  }
  function record<T>(method: string, requests: readonly { key: string }[], call: () => T): T {
    sent.push([method, ...requests.map((request) => String(request.key))].join(' '))
    return call()
  }
  const store = withDenialCache(counting, { now: () => monotonic.nowMs(), ...options })
  return {
    store,
    memory,
    sent,
    check: (policy: Policy, key: string, cost = 1) => store.check({ policy, key, cost }) as Decision,
    take: (...requests: [Policy, string, number][]) =>
      store.take(requests.map(([policy, key, cost]) => ({ policy, key, cost }))) as TakeResult,
    pass(ms: number) {
      wall.advance(ms)
      monotonic.advance(ms)
    },
    /** How many calls to the store behind the cache this makes. */
    countCalls(run: () => unknown): number {
      const before = sent.length
      run()
      return sent.length - before
    },
  }
}

/** The same with a remote store: a call is executed when it is sent, and `answer` delivers the replies. */
function setUpRemote() {
  const wall = new ManualClock(START_MS)
  const monotonic = new ManualClock()
  const memory = new MemoryStore({ clock: wall })
  const inFlight: (() => void)[] = []
  function execute<T>(call: () => T): Promise<T> {
    const value = call()
    return new Promise((resolve) => inFlight.push(() => resolve(value)))
  }
  const slow: Store = {
    check: (request) => execute(() => memory.check(request)),
    take: (requests) => execute(() => memory.take(requests)),
    peek: (request) => execute(() => memory.peek(request)),
    refund: (request) => execute(() => memory.refund(request)),
    reset: (request) => execute(() => memory.reset(request)),
    close: async () => memory.close(),
  }
  return {
    store: withDenialCache(slow, { now: () => monotonic.nowMs() }),
    memory,
    inFlight,
    pass(ms: number) {
      wall.advance(ms)
      monotonic.advance(ms)
    },
    /** Delivers the replies of all calls that are in flight now. */
    async answer() {
      for (const arrive of inFlight.splice(0)) arrive()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('a cached denial', () => {
  it('denies the same cost without a call, until retryAfterMs has passed since the call was sent', () => {
    const { check, pass, countCalls } = setUp()
    check(bucket, 'k', 10)
    expect(check(bucket, 'k', 5).retryAfterMs).toBe(500)
    pass(499.999)
    expect(countCalls(() => expect(check(bucket, 'k', 5).allowed).toBe(false))).toBe(0)
    pass(0.001)
    expect(countCalls(() => expect(check(bucket, 'k', 5).allowed).toBe(true))).toBe(1)
  })

  it('expires after capMs, even if its wait is longer', () => {
    const { check, pass, countCalls } = setUp()
    check(hour, 'k', 10)
    expect(countCalls(() => check(hour, 'k'))).toBe(1)
    for (let i = 0; i < 1000; i++) {
      expect(countCalls(() => expect(check(hour, 'k').allowed).toBe(false))).toBe(0)
      pass(0.999)
    }
    pass(1)
    expect(countCalls(() => expect(check(hour, 'k').allowed).toBe(false))).toBe(1)
    expect(countCalls(() => check(hour, 'k'))).toBe(0)
  })

  it.each([50, 20_000])('is cached for a capMs of %d', (capMs) => {
    const { check, pass, countCalls } = setUp({ capMs })
    check(hour, 'k', 10)
    check(hour, 'k')
    pass(capMs - 0.001)
    expect(countCalls(() => check(hour, 'k'))).toBe(0)
    pass(0.001)
    expect(countCalls(() => check(hour, 'k'))).toBe(1)
  })

  it('is not cached with a capMs of 0', () => {
    const { check, countCalls } = setUp({ capMs: 0 })
    check(hour, 'k', 10)
    for (let i = 0; i < 3; i++) expect(countCalls(() => check(hour, 'k'))).toBe(1)
  })

  it('has waits reduced and a time increased by the time that has passed', () => {
    const { check, pass } = setUp()
    check(bucket, 'k', 10)
    const denied = check(bucket, 'k', 5)
    pass(123.456)
    expect(check(bucket, 'k', 5)).toStrictEqual({
      ...denied,
      retryAfterMs: 376.544,
      resetAfterMs: 876.544,
      timeMs: START_MS + 123.456,
    })
  })

  it('denies checks of a higher cost, and reports their own cost', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 8)
    check(hour, 'k', 5)
    expect(countCalls(() => expect(check(hour, 'k', 7)).toMatchObject({ allowed: false, cost: 7 }))).toBe(0)
  })

  it('does not apply to checks of a lower cost: they call the store', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 8)
    check(hour, 'k', 5)
    expect(countCalls(() => expect(check(hour, 'k', 2).allowed).toBe(true))).toBe(1)
    // The units they take do not invalidate the denial.
    expect(countCalls(() => expect(check(hour, 'k', 5).allowed).toBe(false))).toBe(0)
  })

  it('is replaced by the denial of a lower cost', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k', 5)
    expect(countCalls(() => check(hour, 'k', 2))).toBe(1)
    expect(countCalls(() => [2, 3, 5].map((cost) => check(hour, 'k', cost)))).toBe(0)
  })

  it('does not apply to a peek, which calls the store', () => {
    const { store, check, countCalls } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    expect(countCalls(() => store.peek({ policy: hour, key: 'k', cost: 1 }))).toBe(1)
  })

  it('is not created by a peek', () => {
    const { store, check, countCalls } = setUp()
    check(hour, 'k', 10)
    store.peek({ policy: hour, key: 'k', cost: 1 })
    expect(countCalls(() => check(hour, 'k'))).toBe(1)
  })

  it('applies to one policy and one key', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    expect(countCalls(() => expect(check(hour, 'l').allowed).toBe(true))).toBe(1)
    expect(countCalls(() => expect(check(other, 'k').allowed).toBe(true))).toBe(1)
  })

  it('is shared by policies with one name and equal numbers in different notations', () => {
    const { check, countCalls } = setUp()
    check(bucket, 'k', 10)
    check(bucket, 'k', 5)
    const alike = tokenBucket({ capacity: 10, refillRate: '600/1m', name: 'bucket' })
    expect(countCalls(() => expect(check(alike, 'k', 5).allowed).toBe(false))).toBe(0)
  })

  it('is not shared by policies with one name and different numbers', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    const raised = fixedWindow({ limit: 12, window: '1h', name: 'hour' })
    expect(countCalls(() => expect(check(raised, 'k').allowed).toBe(true))).toBe(1)
  })

  it('is dropped when a policy of that name with other numbers has written', () => {
    const { check, countCalls } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    check(tokenBucket({ capacity: 10, refillRate: 1, name: 'hour' }), 'k')
    // The window ignores the state that the bucket wrote.
    expect(countCalls(() => expect(check(hour, 'k').allowed).toBe(true))).toBe(1)
  })

  it.each(['open', 'closed', 'local'] as const)('is never made of a degraded decision (%s)', (degraded) => {
    const clock = new ManualClock()
    const memory = new MemoryStore({ clock })
    let sent = 0
    const failing: Store = Object.assign(Object.create(memory), {
      check(request: TakeRequest): Decision {
        sent++
        return { ...memory.check(request), degraded }
      },
      take(requests: readonly TakeRequest[]): TakeResult {
        sent++
        const result = memory.take(requests)
        return { ...result, decisions: result.decisions.map((decision) => ({ ...decision, degraded })) }
      },
    })
    const store = withDenialCache(failing, { now: () => clock.nowMs() })
    for (let i = 0; i < 3; i++) store.check({ policy: hour, key: 'k', cost: 6 })
    expect(sent).toBe(3)
    for (let i = 0; i < 3; i++) store.take([{ policy: hour, key: 'k', cost: 6 }])
    expect(sent).toBe(6)
  })

  it('is not created when the store fails', async () => {
    const { store, memory } = setUpRemote()
    memory.close()
    for (let i = 0; i < 2; i++) {
      await expect(async () => store.check({ policy: hour, key: 'k', cost: 1 })).rejects.toThrow(
        expect.objectContaining({ code: 'STORE_FAILED' }),
      )
    }
  })
})

describe('a reset or a refund through the cached store', () => {
  it('drops the denial at once', () => {
    const { store, check } = setUp()
    const { timeMs } = check(hour, 'k', 10)
    expect(check(hour, 'k').allowed).toBe(false)
    store.refund({ policy: hour, key: 'k', timeMs, cost: 1 })
    expect(check(hour, 'k').allowed).toBe(true)
    expect(check(hour, 'k').allowed).toBe(false)
    store.reset({ policy: hour, key: 'k' })
    expect(check(hour, 'k').allowed).toBe(true)
  })

  it('drops it also for a policy with other numbers', () => {
    const { store, check } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    store.reset({ policy: fixedWindow({ limit: 5, window: '1m', name: 'hour' }), key: 'k' })
    expect(check(hour, 'k').allowed).toBe(true)
  })

  it('drops no other denial', () => {
    const { store, check, countCalls } = setUp()
    for (const key of ['k', 'l']) {
      check(hour, key, 10)
      check(hour, key)
    }
    store.reset({ policy: hour, key: 'l' })
    expect(countCalls(() => check(hour, 'k'))).toBe(0)
  })

  const give = {
    reset: (store: Store) => store.reset({ policy: hour, key: 'k' }),
    refund: (store: Store) => store.refund({ policy: hour, key: 'k', timeMs: START_MS, cost: 10 }),
  }

  it.each(['reset', 'refund'] as const)('drops a denial that is in flight (%s)', async (method) => {
    const { store, memory, inFlight, answer } = setUpRemote()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    const denied = store.check({ policy: hour, key: 'k', cost: 1 })
    const taken = store.take([{ policy: hour, key: 'k', cost: 1 }])
    const late = inFlight.splice(0)
    const call = give[method](store)
    await answer()
    await call
    inFlight.push(...late)
    await answer()
    expect([(await denied).allowed, (await taken).allowed]).toStrictEqual([false, false])
    const next = store.check({ policy: hour, key: 'k', cost: 1 })
    await answer()
    expect((await next).allowed).toBe(true)
  })

  it.each(['reset', 'refund'] as const)(
    'drops a denial that was sent while it was in flight (%s)',
    async (method) => {
      const memory = new MemoryStore({ clock: new ManualClock(START_MS) })
      memory.check({ policy: hour, key: 'k', cost: 10 })
      let arrive = () => {}
      const arrived = new Promise<void>((resolve) => {
        arrive = resolve
      })
      // Calls without order: the reset or refund takes effect after a check that was sent later.
      const store = withDenialCache({
        ...give,
        check: async (request) => memory.check(request),
        take: async (requests) => memory.take(requests),
        peek: async (request) => memory.peek(request),
        refund: (request) => arrived.then(() => memory.refund(request)),
        reset: (request) => arrived.then(() => memory.reset(request)),
        close: async () => {},
      })
      const call = give[method](store)
      expect((await store.check({ policy: hour, key: 'k', cost: 1 })).allowed).toBe(false)
      arrive()
      await call
      expect((await store.check({ policy: hour, key: 'k', cost: 1 })).allowed).toBe(true)
    },
  )

  it('still drops a denial in flight after thousands of other resets', async () => {
    const { store, memory, inFlight, answer } = setUpRemote()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    const denied = store.check({ policy: hour, key: 'k', cost: 1 })
    const late = inFlight.splice(0)
    for (let i = 0; i < 5000; i++) store.reset({ policy: hour, key: i === 0 ? 'k' : `other${i}` })
    await answer()
    inFlight.push(...late)
    await answer()
    expect((await denied).allowed).toBe(false)
    store.check({ policy: hour, key: 'k', cost: 1 })
    expect(inFlight.length).toBe(1)
  })
})

describe('charges, blocks and denied requests that count', () => {
  const counted = slidingWindowLog({ limit: 2, window: '1h', countDenied: true, name: 'counted' })

  it('a denial under countDenied is never cached, because the store charges it', () => {
    const { check, take, countCalls } = setUp()
    check(counted, 'k', 2)
    expect(countCalls(() => check(counted, 'k'))).toBe(1)
    expect(countCalls(() => check(counted, 'k'))).toBe(1)
    expect(countCalls(() => take([counted, 'k', 1], [hour, 'k', 1]))).toBe(1)
    expect(countCalls(() => take([counted, 'k', 1], [hour, 'k', 1]))).toBe(1)
  })

  it('a denial because of a block is cached for capMs', () => {
    const { store, check, countCalls, pass } = setUp()
    store.block({ policy: hour, key: 'k', durationMs: 60_000 })
    const first = check(hour, 'k')
    expect(first).toMatchObject({ allowed: false, reason: 'blocked', retryAfterMs: 60_000 })
    pass(999)
    expect(
      countCalls(() => expect(check(hour, 'k')).toMatchObject({ reason: 'blocked', retryAfterMs: 59_001 })),
    ).toBe(0)
    pass(1)
    expect(countCalls(() => check(hour, 'k'))).toBe(1)
  })

  it('a block or a charge drops the denial: it may be denied for longer', () => {
    const { store, check, countCalls } = setUp()
    check(bucket, 'k', 10)
    for (const change of [
      () => store.charge({ policy: bucket, key: 'k', cost: 5 }),
      () => store.block({ policy: bucket, key: 'k', durationMs: 60_000 }),
    ]) {
      const { retryAfterMs } = check(bucket, 'k')
      change()
      countCalls(() => expect(check(bucket, 'k').retryAfterMs).toBeGreaterThan(retryAfterMs))
    }
  })

  it.each(['max-open', 'slot'] as const)('a denial with the reason %s is never cached', async (reason) => {
    const memory = new MemoryStore({ clock: new ManualClock(START_MS) })
    const denial: Decision = {
      ...memory.peek({ policy: hour, key: 'k', cost: 1 }),
      allowed: false,
      retryAfterMs: 1000,
      reason,
    }
    let calls = 0
    const check = () => {
      calls++
      return denial
    }
    const store = withDenialCache({ ...bound(memory), check })
    for (let i = 1; i <= 3; i++) {
      store.check({ policy: hour, key: 'k', cost: 1 })
      expect(calls).toBe(i)
    }
  })

  it('a store without these operations rejects them', () => {
    const memory = new MemoryStore({ clock: new ManualClock(START_MS) })
    const store = withDenialCache(bound(memory))
    const request = { policy: hour, key: 'k', cost: 1, durationMs: 1000 }
    for (const call of [() => store.charge(request), () => store.block(request)]) {
      expect(call).toThrow(expect.objectContaining({ code: 'OPERATION_UNSUPPORTED' }))
    }
  })

  /** Only the six methods of `Store`. */
  function bound(memory: MemoryStore): Store {
    return {
      check: (request) => memory.check(request),
      take: (requests) => memory.take(requests),
      peek: (request) => memory.peek(request),
      refund: (request) => memory.refund(request),
      reset: (request) => memory.reset(request),
      close: () => memory.close(),
    }
  }
})

describe('a take with a denial cache', () => {
  it('is denied by one cached denial: the store is not called, nothing is charged', () => {
    const { check, take, memory, sent } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    sent.length = 0
    const result = take([other, 'all', 3], [hour, 'k', 2])
    expect([result.allowed, result.retryAfterMs, result.delayMs]).toStrictEqual([false, 3_600_000, 0])
    expect(sent).toStrictEqual([])
    // A limit without a cached denial has no decision.
    expect(result.decisions).toMatchObject([
      undefined,
      { policy: 'hour', allowed: false, cost: 2, remaining: 0 },
    ])
    expect(memory.peek({ policy: other, key: 'all', cost: 1 }).remaining).toBe(100)
  })

  it('makes no call if all its limits have a cached denial, and reports the longest wait', () => {
    const { check, take, pass, countCalls } = setUp()
    check(hour, 'k', 10)
    check(bucket, 'k', 10)
    check(hour, 'k')
    check(bucket, 'k', 8)
    pass(300)
    expect(
      countCalls(() =>
        expect(take([bucket, 'k', 8], [hour, 'k', 1])).toMatchObject({
          allowed: false,
          retryAfterMs: 3_600_000 - 300,
          delayMs: 0,
          decisions: [{ retryAfterMs: 500 }, { retryAfterMs: 3_600_000 - 300 }],
        }),
      ),
    ).toBe(0)
  })

  it('has no decision for a limit whose denial has expired', () => {
    const { check, take, pass, countCalls } = setUp()
    check(bucket, 'k', 10)
    check(bucket, 'k', 3)
    pass(300)
    check(hour, 'k', 10)
    check(hour, 'k')
    expect(
      countCalls(() => {
        const { decisions, retryAfterMs } = take([bucket, 'k', 3], [hour, 'k', 1])
        expect(decisions).toMatchObject([undefined, { policy: 'hour' }])
        expect(retryAfterMs).toBe(3_600_000 - 300)
      }),
    ).toBe(0)
  })

  it('with several requests of one limit has a decision for each of them or for none', () => {
    const { check, take } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    const { decisions } = take([hour, 'k', 1], [other, 'all', 1], [hour, 'k', 2], [other, 'all', 2])
    expect(decisions).toMatchObject([{ cost: 1 }, undefined, { cost: 2 }, undefined])
  })

  it('caches nothing for a limit that has no decision', () => {
    const { store, check, countCalls } = setUp()
    const outer = withDenialCache(store, { now: () => 0 })
    check(hour, 'k', 10)
    check(hour, 'k')
    const requests = [hour, other].map((policy) => ({ policy, key: 'k', cost: 1 }))
    expect(outer.take(requests)).toMatchObject({ allowed: false, decisions: [{ policy: 'hour' }, undefined] })
    expect(countCalls(() => expect(outer.check(requests[1]!)).toMatchObject({ allowed: true }))).toBe(1)
  })

  it('caches nothing if `except` returns true', () => {
    const { check, take, countCalls } = setUp({ except: ({ decisions }) => decisions.length === 2 })
    check(hour, 'k', 10)
    for (let i = 0; i < 2; i++) expect(countCalls(() => take([hour, 'k', 1], [other, 'k', 1]))).toBe(1)
    expect(countCalls(() => take([hour, 'k', 1]))).toBe(1)
    expect(countCalls(() => take([hour, 'k', 1], [other, 'k', 1]))).toBe(0)
  })

  it('caches the denials of its limits, and nothing for the limits that allowed it', () => {
    const { memory, check, take, countCalls } = setUp()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    expect(take([other, 'all', 3], [hour, 'k', 2]).allowed).toBe(false)
    expect(countCalls(() => expect(check(hour, 'k', 2).allowed).toBe(false))).toBe(0)
    expect(countCalls(() => expect(check(hour, 'k', 1).allowed).toBe(false))).toBe(1)
    expect(countCalls(() => expect(check(other, 'all').allowed).toBe(true))).toBe(1)
  })

  it('caches and applies the sum of the costs of one limit', () => {
    const { check, take, countCalls } = setUp()
    check(hour, 'k', 6)
    expect(take([hour, 'k', 2], [hour, 'k', 3]).allowed).toBe(false)
    expect(
      countCalls(() =>
        expect(take([hour, 'k', 3], [hour, 'k', 2])).toMatchObject({
          allowed: false,
          decisions: [{ cost: 3 }, { cost: 2 }],
        }),
      ),
    ).toBe(0)
    expect(countCalls(() => expect(check(hour, 'k', 4).allowed).toBe(true))).toBe(1)
  })
})

describe('an expired denial', () => {
  const request = { policy: hour, key: 'k', cost: 2 }
  const both = [request, { policy: other, key: 'all', cost: 1 }]

  /** A denial that has just expired, of a remote store. */
  async function setUpExpired() {
    const all = setUpRemote()
    all.memory.check({ policy: hour, key: 'k', cost: 10 })
    all.store.check(request)
    await all.answer()
    all.pass(1000)
    return all
  }

  it('is refreshed by one check: the others wait, and its result denies them', async () => {
    const { store, inFlight, pass, answer } = await setUpExpired()
    const checks = Array.from({ length: 100 }, (_, i) => store.check({ ...request, cost: 2 + (i % 9) }))
    const takes = Array.from({ length: 100 }, () => store.take(both))
    expect(inFlight.length).toBe(1)
    pass(1)
    await answer()
    expect(inFlight.length).toBe(0)
    for (const check of checks) expect((await check).allowed).toBe(false)
    for (const take of takes) expect((await take).decisions).toMatchObject([{ policy: 'hour' }, undefined])
    // The waits of the others count from the time of their own decision.
    expect((await checks[1]!).retryAfterMs).toBe(3_600_000 - 1001)
  })

  it('is refreshed by one take: the others wait, and its result denies them', async () => {
    const { store, inFlight, answer } = await setUpExpired()
    const all = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? store.take(both) : store.check(request)))
    expect(inFlight.length).toBe(1)
    await answer()
    for (const one of all) expect((await one).allowed).toBe(false)
    expect(inFlight.length).toBe(0)
  })

  it('lets all waiting checks call the store together if the first was allowed', async () => {
    const { store, memory, inFlight, answer } = await setUpExpired()
    memory.reset(request)
    const checks = Array.from({ length: 7 }, () => store.check(request))
    const take = store.take(both)
    await answer()
    expect(inFlight.length).toBe(7)
    await answer()
    const allowed = await Promise.all([...checks, take].map(async (one) => (await one).allowed))
    expect(allowed).toStrictEqual([true, true, true, true, true, false, false, false])
  })

  it('does not delay a peek, a lower cost, another key or other numbers', async () => {
    const { store, inFlight } = await setUpExpired()
    store.check({ ...request, cost: 5 })
    for (const free of [
      { cost: 4 },
      { key: 'l' },
      { policy: other },
      { policy: fixedWindow({ limit: 20, window: '1h', name: 'hour' }) },
    ]) {
      const before = inFlight.length
      store.check({ ...request, cost: 5, ...free })
      expect(inFlight.length).toBe(before + 1)
    }
    store.peek(request)
    expect(inFlight.length).toBe(6)
  })

  it('does not delay a check after a reset', async () => {
    const { store, inFlight } = await setUpExpired()
    store.check(request)
    store.reset(request)
    store.check(request)
    expect(inFlight.length).toBe(3)
  })

  it('lets each waiting check call the store itself if the first call fails', async () => {
    const clock = new ManualClock(START_MS)
    const memory = new MemoryStore({ clock })
    let [sent, isDown] = [0, false]
    const failing: Store = Object.assign(Object.create(memory), {
      async check(one: TakeRequest): Promise<Decision> {
        sent++
        if (isDown) throw new Error('down')
        return memory.check(one)
      },
    })
    const store = withDenialCache(failing, { now: () => clock.nowMs() })
    memory.check({ ...request, cost: 10 })
    await store.check(request)
    clock.advance(1000)
    isDown = true
    const results = await Promise.allSettled([1, 2, 3].map(() => store.check(request)))
    expect(results.map(({ status }) => status)).toStrictEqual(['rejected', 'rejected', 'rejected'])
    expect(sent).toBe(4)
    isDown = false
    expect((await store.check(request)).allowed).toBe(false)
    expect(sent).toBe(5)
  })

  it('delays no check twice: if the new denial has expired on arrival, all call the store together', async () => {
    const { store, memory, inFlight, pass, answer } = setUpRemote()
    const one = { policy: bucket, key: 'k', cost: 1 }
    // Other clients take every new unit, and a round trip takes longer than the wait for the next unit.
    const round = async () => {
      pass(100)
      memory.check(one)
      await answer()
    }
    memory.check({ ...one, cost: 10 })
    store.check(one)
    await round()
    const all = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? store.check(one) : store.take([one])))
    expect(inFlight.length).toBe(1)
    await round()
    expect(inFlight.length).toBe(99)
    await round()
    for (const answered of all) expect((await answered).allowed).toBe(false)
  })

  it('costs the store one check a second under a flood', async () => {
    const { store, inFlight, pass, answer } = await setUpExpired()
    let sent = 0
    for (let ms = 0; ms < 5000; ms += 10) {
      for (let i = 0; i < 50; i++) store.check(request)
      sent += inFlight.length
      await answer()
      pass(10)
    }
    expect(sent).toBe(5)
  })
})

describe('a call in flight', () => {
  it('starts its wait when it was sent', async () => {
    const { store, memory, inFlight, pass, answer } = setUpRemote()
    memory.check({ policy: bucket, key: 'k', cost: 10 })
    const request = { policy: bucket, key: 'k', cost: 5 }
    store.check(request)
    pass(200)
    await answer()
    expect(store.check(request)).toMatchObject({ allowed: false, retryAfterMs: 300, timeMs: START_MS + 200 })
    pass(300)
    store.check(request)
    expect(inFlight.length).toBe(1)
  })

  it('does not replace the denial of a lower cost, or a longer denial', async () => {
    const { store, memory, inFlight, pass, answer } = setUpRemote()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    const check = (cost: number) => store.check({ policy: hour, key: 'k', cost })
    for (const cost of [2, 5, 2]) check(cost)
    const [first, higher, same] = inFlight.splice(0)
    pass(1)
    check(2)
    await answer()
    for (const arrive of [first!, higher!, same!]) arrive()
    await answer()
    pass(999)
    for (const cost of [2, 5]) check(cost)
    expect(inFlight.length).toBe(0)
    pass(1)
    check(5)
    expect(inFlight.length).toBe(1)
  })

  it('is not cached after close', async () => {
    const { store, memory, answer } = setUpRemote()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    const denied = store.check({ policy: hour, key: 'k', cost: 1 })
    const closed = store.close()
    await answer()
    await closed
    expect((await denied).allowed).toBe(false)
    await expect(async () => store.check({ policy: hour, key: 'k', cost: 1 })).rejects.toThrow(
      expect.objectContaining({ code: 'STORE_FAILED' }),
    )
  })
})

describe('the contents of the cache', () => {
  it('are at most maxKeys denials: the oldest is removed first', () => {
    const { check, countCalls } = setUp({ maxKeys: 3 })
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) {
      check(hour, key, 10)
      check(hour, key)
    }
    expect(keys.slice(1).map((key) => countCalls(() => check(hour, key)))).toStrictEqual([0, 0, 0])
    expect(countCalls(() => check(hour, 'a'))).toBe(1)
    expect(keys.map((key) => countCalls(() => check(hour, key)))).toStrictEqual([0, 1, 1, 1])
  })

  it('are kept while there is room, and the oldest make room', () => {
    const { check, pass, countCalls } = setUp({ maxKeys: 100 })
    for (let round = 0; round < 20; round++) {
      const keys = Array.from({ length: 100 }, (_, i) => `r${round}k${i}`)
      for (const key of keys) {
        check(hour, key, 10)
        check(hour, key)
      }
      expect(countCalls(() => keys.map((key) => check(hour, key)))).toBe(0)
      pass(1000)
    }
  })

  it('are ordered by their last denial', () => {
    const { check, countCalls } = setUp({ maxKeys: 3 })
    for (const key of ['a', 'b', 'c', 'd']) check(hour, key, 10)
    check(hour, 'a', 5)
    check(hour, 'b', 5)
    check(hour, 'a', 4)
    check(hour, 'c', 5)
    check(hour, 'd', 5)
    expect(['a', 'c', 'd', 'b'].map((key) => countCalls(() => check(hour, key, 5)))).toStrictEqual([
      0, 0, 0, 1,
    ])
  })

  it('are removed by close', () => {
    const { store, check } = setUp()
    check(hour, 'k', 10)
    check(hour, 'k')
    store.close()
    expect(() => check(hour, 'k')).toThrow(expect.objectContaining({ code: 'STORE_FAILED' }))
  })
})

describe('invalid input', () => {
  it('is an error for a key with a cached denial, too', () => {
    const { store, check } = setUp()
    for (const key of ['5', 'undefined']) {
      check(hour, key, 10)
      check(hour, key)
    }
    for (const [wrong, code] of [
      [{ cost: 11 }, 'COST_ABOVE_LIMIT'],
      [{ cost: 1.5 }, 'COST_INVALID'],
      [{ cost: '5' }, 'COST_INVALID'],
      [{ cost: Number.NaN }, 'COST_INVALID'],
      [{ key: 5 }, 'KEY_INVALID'],
      [{ key: undefined }, 'KEY_INVALID'],
      [{ key: Symbol('5') }, 'KEY_INVALID'],
      [{ policy: { ...hour } }, 'POLICY_INVALID'],
      [{ policy: { ...hour, limit: 10, windowUs: 3_600_000_000 } }, 'POLICY_INVALID'],
    ] as const) {
      const request = { policy: hour, key: '5', cost: 1, ...wrong } as TakeRequest
      expect(() => store.check(request)).toThrow(expect.objectContaining({ code }))
      expect(() => store.take([{ policy: hour, key: '5', cost: 1 }, request])).toThrow(
        expect.objectContaining({ name: 'TidegateError' }),
      )
    }
    expect(() => store.take([])).toThrow(expect.objectContaining({ code: 'TAKE_INVALID' }))
  })

  it('is reported as the store reports it: an async store rejects', async () => {
    const { store, memory, answer } = setUpRemote()
    memory.check({ policy: hour, key: 'k', cost: 10 })
    const request = { policy: hour, key: 'k', cost: 1 }
    store.check(request)
    await answer()
    const rejecting = withDenialCache({
      ...store,
      check: async (wrong) => store.check(wrong),
      take: async (wrong) => store.take(wrong),
    })
    await rejecting.check(request)
    const wrong = rejecting.check({ ...request, cost: 11 })
    await expect(wrong).rejects.toThrow(expect.objectContaining({ code: 'COST_ABOVE_LIMIT' }))
    const wrongTake = rejecting.take([request, { ...request, key: '' }])
    await expect(wrongTake).rejects.toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
  })

  it('is detected when a policy is missing, also if a policy is named "undefined"', () => {
    const { store, check } = setUp()
    const policy = definePolicy({ ...hour, name: 'undefined' })
    check(policy, 'k', 10)
    check(policy, 'k')
    expect(() => store.check({ policy: undefined as never, key: 'k', cost: 1 })).toThrow(
      expect.objectContaining({ code: 'POLICY_INVALID' }),
    )
  })

  it.each([
    ['capMs', { capMs: -1 }],
    ['capMs', { capMs: Number.NaN }],
    ['capMs', { capMs: '1s' }],
    ['maxKeys', { maxKeys: 0 }],
    ['maxKeys', { maxKeys: 1.5 }],
    ['maxKeys', { maxKeys: 1e9 }],
    ['except', { except: true }],
    ['now', { now: 5 }],
    ['cap', { cap: 5 }],
  ])('is rejected in the option %s: %j', (field, options) => {
    expect(() => withDenialCache(new MemoryStore(), options as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field }),
    )
  })

  it('is rejected as a store', () => {
    expect(() => withDenialCache({} as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field: 'store' }),
    )
  })
})

it('returns values, not promises, for an in-process store', () => {
  const store = withDenialCache(new MemoryStore())
  const request = { policy: hour, key: 'k', cost: 10 }
  const decision = store.check(request) as Decision
  expect(decision.allowed).toBe(true)
  expect(store.check(request)).toMatchObject({ allowed: false })
  expect(store.check(request)).toMatchObject({ allowed: false })
  expect(store.take([request])).toMatchObject({ allowed: false })
  expect(store.peek(request)).toMatchObject({ allowed: false })
  expect(store.refund({ policy: hour, key: 'k', timeMs: decision.timeMs, cost: 10 })).toBe(10)
  expect(store.reset(request)).toBe(undefined)
  expect(store.close()).toBe(undefined)
})

describe('traits', () => {
  it('are those of the store, with cachedDenial added', () => {
    const listeners: unknown[] = []
    const traits = {
      partOf: ({ key }: ResetRequest) => `part of ${key}`,
      onReachable: (listener: () => void) => listeners.push(listener),
      silentMs: () => 7,
      ready: async () => {},
    }
    const memory = new MemoryStore()
    const store = withDenialCache(Object.assign(Object.create(memory), { traits }))
    expect(store.traits).toStrictEqual({ ...traits, cachedDenial: expect.any(Function) })
    expect(withDenialCache(memory).traits).toMatchObject({ kind: 'in-process' })
    expect(Object.keys(setUp().store.traits!)).toStrictEqual(['cachedDenial'])
  })

  it('cachedDenial returns the denial of a take without a call', () => {
    const { store, check, take, pass, sent } = setUp()
    const cachedDenial = store.traits!.cachedDenial!
    const request = { policy: hour, key: 'k', cost: 1 }
    expect(cachedDenial([request], false)).toBe(undefined)
    check(hour, 'k', 10)
    check(hour, 'k')
    sent.length = 0
    pass(300)
    for (const requests of [[request], [{ policy: other, key: 'all', cost: 1 }, request]]) {
      const taken = take(
        ...requests.map(({ policy, key, cost }) => [policy, key, cost] as [Policy, string, number]),
      )
      expect(cachedDenial(requests, false)).toStrictEqual(taken)
      expect(cachedDenial(requests, true)).toStrictEqual(taken)
    }
    expect(cachedDenial([{ ...request, key: 'l' }], true)).toBe(undefined)
    expect(sent).toStrictEqual([])
  })

  it('cachedDenial returns a denial beyond capMs only under overload, until its wait is over', () => {
    const { store, check, pass } = setUp()
    const cachedDenial = store.traits!.cachedDenial!
    const request = { policy: hour, key: 'k', cost: 1 }
    check(hour, 'k', 10)
    const { retryAfterMs } = check(hour, 'k')
    pass(999.999)
    expect(cachedDenial([request], false)).toMatchObject({ allowed: false })
    pass(0.001)
    expect(cachedDenial([request], false)).toBe(undefined)
    expect(cachedDenial([request], true)).toMatchObject({ allowed: false, retryAfterMs: retryAfterMs - 1000 })
    pass(retryAfterMs - 1000.001)
    expect(cachedDenial([request], true)).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
    pass(0.001)
    expect(cachedDenial([request], true)).toBe(undefined)
  })

  it('cachedDenial does not apply to a lower cost, after a reset, and to invalid input', () => {
    const { store, check } = setUp()
    const cachedDenial = store.traits!.cachedDenial!
    const request = { policy: hour, key: 'k', cost: 5 }
    check(hour, 'k', 8)
    check(hour, 'k', 5)
    expect(cachedDenial([request], true)).toMatchObject({ allowed: false })
    expect(cachedDenial([{ ...request, cost: 4 }], true)).toBe(undefined)
    for (const invalid of [
      [],
      [undefined],
      [{ ...request, cost: 11 }],
      [request, { ...request, key: '' }],
      'text',
    ]) {
      expect(cachedDenial(invalid as never, true)).toBe(undefined)
    }
    store.reset(request)
    expect(cachedDenial([request], true)).toBe(undefined)
  })
})

it('passes the call on to the store', () => {
  const received: (Call | undefined)[] = []
  const receive = (_: unknown, call?: Call) => {
    received.push(call)
    return { allowed: true, decisions: [] } as never
  }
  const store = withDenialCache({
    check: receive,
    take: receive,
    peek: receive,
    refund: receive,
    reset: receive,
    close() {},
  })
  const call = { abandoned: false }
  const request = { policy: hour, key: 'k', cost: 1 }
  store.check(request, call)
  store.take([request], call)
  store.take('invalid' as never, call)
  store.peek(request, call)
  store.refund({ ...request, timeMs: 0 }, call)
  store.reset(request, call)
  expect(received).toHaveLength(6)
  for (const one of received) expect(one).toBe(call)
})

it('measures by a monotonic clock, not by the clock of the store, by default', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000)
  onTestFinished(() => now.mockRestore())
  const clock = new ManualClock(START_MS)
  const store = withDenialCache(new MemoryStore({ clock }), { capMs: 30 })
  const request = { policy: hour, key: 'k', cost: 10 }
  store.check(request)
  store.check(request)
  clock.advance(3_600_000)
  expect(store.check(request)).toMatchObject({ allowed: false })
  now.mockReturnValue(1030)
  expect(store.check(request)).toMatchObject({ allowed: true })
})

it('calls the store if its clock has stepped back, because the age of the denial is unknown', () => {
  const clock = new ManualClock(START_MS)
  const memory = new MemoryStore({ clock })
  const store = withDenialCache(memory, { now: () => clock.nowMs() })
  const request = { policy: hour, key: 'k', cost: 10 }
  store.check(request)
  store.check(request)
  memory.reset(request)
  clock.advance(-0.001)
  expect(store.check(request)).toMatchObject({ allowed: true })
})

it.each(ALGORITHM_NAMES)('denies exactly while the store would deny: %s', async (algorithm) => {
  let differing = 0
  for (let seed = 1; seed <= 40; seed++) {
    const trace = randomTrace(seed, algorithm, { length: 300 })
    const [direct, cached] = [new ManualClock(), new ManualClock()]
    const store = withDenialCache(new ReferenceStore(cached), { now: () => cached.nowMs() })
    const expected = await runTrace(trace, new ReferenceStore(direct), direct)
    for (const [i, answer] of (await runTrace(trace, store, cached)).entries()) {
      const right = expected[i]
      if (typeof answer !== 'object' || typeof right !== 'object' || right.allowed) {
        expect({ seed, i, answer }).toStrictEqual({ seed, i, answer: right })
        continue
      }
      // A higher cost gets the waits of the lower one; units taken or given back in the meantime are not included.
      expect(answer.retryAfterMs).toBeGreaterThan(0)
      expect(answer.retryAfterMs).toBeLessThanOrEqual(right.retryAfterMs)
      const { retryAfterMs, remaining, resetAfterMs } = right
      expect({ seed, i, ...answer, retryAfterMs, remaining, resetAfterMs }).toStrictEqual({
        seed,
        i,
        ...right,
      })
      if (answer.retryAfterMs < right.retryAfterMs) differing++
    }
  }
  // The end of a fixed window is the same for every cost.
  expect(differing > 0).toBe(algorithm !== 'fixed-window')
})

describe('conformance', () => {
  // A check of a higher cost is denied without a call, so its exact waits are unknown.
  const reason = (what: string) =>
    `a cost above a denied one is denied with the waits of the denied one: ${what}`
  testStore({
    // Defined at once: vitest defines a group later, after the suite has looked for the tests in `skip`.
    describe: (_title, define) => define(),
    it,
    deepEqual: deepStrictEqual,
    operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
    open: (clock) => withDenialCache(new MemoryStore({ clock }), { now: () => clock.nowMs() }),
    skip: [
      {
        test: 'sliding window log: each unit leaves exactly one window later',
        reason: reason('3 after 1 at 3 s waits 7 s, not 8 s'),
      },
      {
        test: 'sliding window counter: the last window counts by the share still covered',
        reason: reason('10 after 1 at 90 s waits 1 µs, not 6.75 s'),
      },
      {
        test: 'decides random traces like the reference store',
        reason: reason('compared above, except for these waits'),
      },
    ],
  })
})
