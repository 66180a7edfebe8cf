import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guard, guardFallible } from '../../test/guard.js'
import type { Decision } from '../decision.js'
import { withDenialCache } from '../denial-cache/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { ALGORITHM_NAMES, definePolicy, fixedWindow } from '../policy/index.js'
import type { Call, Store } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'
import { type FailureOptions, withFallback } from './index.js'

const open = fixedWindow({ limit: 1_000_000, window: '365d', name: 'open' })
const closed = fixedWindow({ limit: 1000, window: '365d', name: 'closed', onStoreFailure: 'closed' })
const local = fixedWindow({ limit: 10, window: '365d', name: 'local', onStoreFailure: 'local', instances: 2 })

function setUp(options: FailureOptions = {}) {
  const setup = guardFallible(options)
  const { store, guarded } = setup
  const check = (policy = open, cost = 1, key = 'k') => guarded.check({ policy, key, cost })
  return {
    ...setup,
    check,
    async openBreaker() {
      store.state = 'failing'
      for (let i = 0; i < 5; i++) await check()
    },
  }
}

it('a store that was closed by its owner has not failed: every call rejects', async () => {
  const { store, guarded, events, check } = setUp()
  const { timeMs } = await check()
  store.close()
  const request = { policy: open, key: 'k', cost: 1 }
  for (let i = 0; i < 10; i++) {
    for (const call of [check(), guarded.take([request]), guarded.refund({ ...request, timeMs })]) {
      await expect(call).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'closed' })
    }
  }
  expect([guarded.breakerState, events]).toStrictEqual(['closed', []])
})

describe('an outage under load', () => {
  /** Two checks each millisecond: 1 s of normal operation, 5 s of outage, 2.5 s after the recovery. */
  async function run(outage: 'failing' | 'hanging') {
    const { store, timers, guarded, check, pass } = setUp()
    await check()
    const decisions: { madeMs: number; tookMs: number; decision: Decision }[] = []
    const callsAfterPhase: number[] = []
    for (const [phase, state, lengthMs] of [
      [0, 'up', 1000],
      [1, outage, 5000],
      [2, 'up', 2500],
    ] as const) {
      store.state = state
      for (let ms = 0; ms < lengthMs; ms++) {
        const madeMs = timers.now()
        for (let i = 0; i < 2; i++) {
          void check().then((decision) => decisions.push({ madeMs, tookMs: timers.now() - madeMs, decision }))
        }
        await pass(1)
      }
      callsAfterPhase[phase] = store.methods.length
    }
    return { decisions, callsAfterPhase, guarded }
  }

  it.each([
    ['failing', 0, 5 + 5],
    // Two calls a millisecond until one deadline after the first timeout: a stall would be over by then.
    ['hanging', 50, 2 * (50 + 54) + 5],
  ] as const)(
    'of a %s store delays no decision beyond the deadline, and calls the store only to probe it',
    async (state, waitMs, maxCalls) => {
      const { decisions, callsAfterPhase, guarded } = await run(state)
      expect(decisions).toHaveLength(2 * 8500)
      expect(decisions.every(({ decision }) => decision.allowed)).toBe(true)
      expect(Math.max(...decisions.map(({ tookMs }) => tookMs))).toBe(waitMs)
      // The calls that were in flight when the breaker opened, and then the probes.
      expect(callsAfterPhase[1]! - callsAfterPhase[0]!).toBeLessThanOrEqual(maxCalls)
      // Exact again with the next probe, at most 2 s after the recovery.
      const degraded = decisions.filter(({ decision }) => decision.degraded !== undefined)
      expect(Math.max(...degraded.map(({ madeMs }) => madeMs))).toBeLessThan(8000)
      expect(Math.min(...degraded.map(({ madeMs }) => madeMs))).toBeGreaterThanOrEqual(1000)
      expect(guarded.breakerState).toBe('closed')
    },
  )

  it('counts calls that time out at one moment as one failure', async () => {
    const { store, guarded, check, pass } = setUp()
    await check()
    store.state = 'hanging'
    for (let moment = 1; moment <= 5; moment++) {
      expect(guarded.breakerState).toBe('closed')
      const calls = Array.from({ length: 100 }, () => check())
      await pass(50)
      await Promise.all(calls)
    }
    expect(guarded.breakerState).toBe('open')
  })

  it('sends no check twice and none afterwards', async () => {
    const { store, guarded, check, pass } = setUp()
    await check()
    store.state = 'hanging'
    const calls = Array.from({ length: 100 }, () => check())
    await pass(60)
    expect((await Promise.all(calls)).every(({ degraded }) => degraded === 'open')).toBe(true)
    store.state = 'up'
    store.deliver()
    await pass(60_000)
    expect(store.methods).toHaveLength(101)
    // The store had executed these checks before their replies were lost.
    expect((await guarded.peek({ policy: open, key: 'k', cost: 1 })).remaining).toBe(1_000_000 - 101)
  })
})

describe('a decision without the store', () => {
  it('uses the requests at the time of the call, also if the caller changes the list', async () => {
    const { store, guarded, check, pass } = setUp()
    await check()
    store.state = 'hanging'
    const requests = ['a', 'b'].map((key) => ({ policy: local, key, cost: 1 }))
    const taking = guarded.take(requests)
    requests.length = 0
    await pass(60)
    const { allowed, decisions } = await taking
    expect(allowed).toBe(true)
    expect(decisions).toMatchObject([{ degraded: 'local' }, { degraded: 'local' }])
  })

  it.each(['check', 'peek'] as const)(
    'uses the request of the %s at the time of the call, also if the caller changes the object',
    async (method) => {
      const { store, guarded, check, pass } = setUp()
      await check()
      store.state = 'hanging'
      const request = { policy: local, key: 'a', cost: 1 }
      const deciding = guarded[method](request)
      Object.assign(request, { policy: closed, key: 'b', cost: 2 })
      await pass(60)
      expect(await deciding).toMatchObject({ allowed: true, cost: 1, policy: local.name, degraded: 'local' })
    },
  )

  it('has a retryAfterMs until the next probe, and of at least one second', async () => {
    const { check, pass, openBreaker } = setUp()
    await openBreaker()
    expect((await check(closed)).retryAfterMs).toBe(1000)
    for (const waitMs of [200, 400, 800, 1600]) {
      await pass(waitMs)
      await check()
    }
    expect((await check(closed)).retryAfterMs).toBe(2000)
    await pass(500)
    expect((await check(closed)).retryAfterMs).toBe(1500)
  })
})

describe('call.abandoned', () => {
  it.each(['check', 'take', 'peek', 'refund', 'reset'] as const)(
    'is true once a %s was decided without the store',
    async (method) => {
      const { store, guarded, check, pass } = setUp()
      await check()
      store.state = 'hanging'
      const request = { policy: open, key: 'k', cost: 1 }
      const call = {
        check: () => guarded.check(request),
        take: () => guarded.take([request]),
        peek: () => guarded.peek(request),
        refund: () => guarded.refund({ ...request, timeMs: 0 }),
        reset: () => guarded.reset(request).catch(() => {}),
      }[method]()
      await pass(49)
      expect(store.calls.at(-1)).toMatchObject({ abandoned: false })
      await pass(1)
      await call
      expect(store.calls.at(-1)).toMatchObject({ abandoned: true })
    },
  )

  it('lets a store with a queue skip requests whose callers have stopped waiting', async () => {
    const queue: { send: () => void; call: Call }[] = []
    const memory = new MemoryStore()
    const store = {
      check: (request: Parameters<Store['check']>[0], call: Call) =>
        new Promise((resolve) => queue.push({ send: () => resolve(memory.check(request)), call })),
    } as unknown as Store
    const { guarded, pass } = guard(store, { connectTimeoutMs: 50 })
    const request = { policy: open, key: 'k', cost: 1 }
    const early = guarded.check(request)
    await pass(30)
    const late = guarded.check(request)
    await pass(20)
    expect(await early).toMatchObject({ degraded: 'open' })
    for (const { send, call } of queue) if (!call.abandoned) send()
    expect(await late).toMatchObject({ remaining: 999_999 })
    expect(memory.peek(request)).toMatchObject({ remaining: 999_999 })
  })
})

describe('a cold start', () => {
  it('is not an outage while the store is slow to connect', async () => {
    const { store, check, pass, events } = setUp()
    store.state = 'hanging'
    const calls = Array.from({ length: 20 }, () => check())
    await pass(900)
    store.deliver()
    for (const decision of await Promise.all(calls)) expect(decision).not.toHaveProperty('degraded')
    expect(events).toStrictEqual([])
  })

  it('ends after connectTimeoutMs', async () => {
    const { store, check, pass } = setUp({ connectTimeoutMs: 300 })
    store.state = 'hanging'
    const call = check(closed)
    await pass(300)
    expect(await call).toMatchObject({ allowed: false, degraded: 'closed' })
  })
})

describe('too many requests in flight', () => {
  it('are counted locally at once, and do not count as failures of the store', async () => {
    const { store, guarded, check, events, pass } = setUp({ maxInFlight: 100 })
    await check()
    store.state = 'hanging'
    const early = Array.from({ length: 100 }, () => check())
    const few = fixedWindow({ limit: 7, window: '365d', name: 'few' })
    const flood = await Promise.all(Array.from({ length: 1000 }, () => check(few)))
    expect(flood.filter(({ allowed }) => allowed)).toHaveLength(7)
    expect(await check(closed)).toMatchObject({ allowed: true, degraded: 'local', reason: 'overload' })
    expect(events).toStrictEqual([
      { type: 'overload', isOverloaded: true },
      ...Array(1001).fill({ type: 'degraded', mode: 'local', reason: 'overload' }),
    ])
    expect([guarded.breakerState, store.methods.length]).toStrictEqual(['closed', 101])
    store.deliver()
    await Promise.all(early)
    store.state = 'up'
    await pass(1)
    expect((await check(few)).degraded).toBe(undefined)
  })

  it('are reported once when they begin, and once when there were none for 5 s', async () => {
    const { store, check, eventsOf, pass } = setUp({ maxInFlight: 1 })
    await check()
    store.state = 'hanging'
    const hanging = check()
    await check()
    await check()
    expect(eventsOf('overload')).toStrictEqual([{ type: 'overload', isOverloaded: true }])
    store.deliver()
    await hanging
    store.state = 'up'
    await pass(4999)
    await check()
    expect(eventsOf('overload')).toHaveLength(1)
    await pass(1)
    await check()
    await check()
    expect(eventsOf('overload').slice(1)).toStrictEqual([{ type: 'overload', isOverloaded: false }])
  })
})

describe('events', () => {
  it('report each change once, and each failed call and each degraded decision', async () => {
    const { store, guarded, check, pass, openBreaker, events, eventsOf } = setUp()
    await check()
    await openBreaker()
    expect(events.filter(({ type }) => type !== 'degraded' && type !== 'call-failed')).toStrictEqual([
      { type: 'breaker', state: 'open', part: undefined },
      { type: 'store', isUp: false, error: expect.objectContaining({ message: 'The store is down.' }) },
    ])
    expect(eventsOf('call-failed')).toStrictEqual(
      Array(5).fill({
        type: 'call-failed',
        isTimeout: false,
        error: expect.objectContaining({ code: 'STORE_FAILED' }),
      }),
    )
    expect(eventsOf('degraded')).toHaveLength(5)
    expect(guarded.breakerState).toBe('open')

    events.length = 0
    await check()
    await pass(200)
    await check(closed)
    store.state = 'up'
    await pass(400)
    await check()
    expect(events).toMatchObject([
      { type: 'degraded', mode: 'open', reason: 'failure' },
      { type: 'breaker', state: 'half-open' },
      { type: 'call-failed' },
      { type: 'breaker', state: 'open' },
      { type: 'degraded', mode: 'closed', reason: 'failure' },
      { type: 'breaker', state: 'half-open' },
      { type: 'breaker', state: 'closed' },
      { type: 'store', isUp: true },
    ])
  })

  it('report a timeout as a timeout', async () => {
    const { store, check, pass, events } = setUp()
    await check()
    store.state = 'hanging'
    const call = check()
    await pass(50)
    await call
    expect(events[0]).toMatchObject({ type: 'call-failed', isTimeout: true })
  })

  it('report a store that has never answered as down at its first failure, and up at its first reply', async () => {
    const { store, guarded, check, eventsOf } = setUp()
    store.state = 'failing'
    await check()
    await check()
    const error = expect.objectContaining({ message: 'The store is down.' })
    expect(eventsOf('store')).toStrictEqual([{ type: 'store', isUp: false, error }])
    expect(guarded.breakerState).toBe('closed')
    store.state = 'up'
    await check()
    await check()
    expect(eventsOf('store').slice(1)).toStrictEqual([{ type: 'store', isUp: true }])
  })

  it('report a store that has answered as down only when the breaker opens', async () => {
    const { store, check, eventsOf } = setUp()
    await check()
    store.state = 'failing'
    for (let i = 0; i < 4; i++) await check()
    expect(eventsOf('store')).toStrictEqual([])
    await check()
    expect(eventsOf('store')).toHaveLength(1)
  })

  it('report an unreachable store as down at once, and up with the first answer', async () => {
    const error = storeFailed('unreachable', 'No connection to 127.0.0.1:6379: ECONNREFUSED.')
    const memory = new MemoryStore()
    let isReachable = true
    const store = {
      check: async (request: Parameters<Store['check']>[0]) => {
        if (!isReachable) throw error
        return memory.check(request)
      },
    } as unknown as Store
    const { guarded, eventsOf, pass } = guard(store)
    const check = () => guarded.check({ policy: open, key: 'k', cost: 1 })
    await check()
    isReachable = false
    await check()
    expect(eventsOf('store')).toStrictEqual([{ type: 'store', isUp: false, error }])
    expect(guarded.breakerState).toBe('open')
    isReachable = true
    await pass(200)
    await check()
    expect(eventsOf('store').slice(1)).toStrictEqual([{ type: 'store', isUp: true }])
  })

  it('an async listener that rejects becomes a warning, not an unhandled rejection', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    try {
      const { check, openBreaker } = setUp({
        async onEvent() {
          throw new Error('error in the listener')
        },
      })
      await openBreaker()
      expect(await check()).toMatchObject({ allowed: true, degraded: 'open' })
      await new Promise((resolve) => setImmediate(resolve))
      expect(warnings).toMatchObject([{ code: 'TIDEGATE_LISTENER_FAILED' }])
      expect(warnings[0]?.message).toContain('error in the listener')
    } finally {
      process.off('warning', onWarning)
    }
  })

  it('a listener that throws does not fail a request', async () => {
    const { check, openBreaker } = setUp({
      onEvent() {
        throw new Error('error in the listener')
      },
    })
    await openBreaker()
    expect(await check()).toMatchObject({ allowed: true, degraded: 'open' })
  })
})

describe('local counting', () => {
  it('ends with the outage, and the shared count continues', async () => {
    const { store, check, pass, openBreaker } = setUp()
    await check(local, 4)
    await openBreaker()
    expect((await check(local, 5)).allowed).toBe(true)
    expect(await check(local)).toMatchObject({ allowed: false, degraded: 'local' })
    store.state = 'up'
    await pass(200)
    expect(await check(local)).toMatchObject({ allowed: true, remaining: 5 })
  })

  it('starts at zero with each outage', async () => {
    const { store, check, pass, openBreaker } = setUp()
    for (let outage = 0; outage < 3; outage++) {
      await openBreaker()
      expect((await check(local, 5)).allowed).toBe(true)
      expect((await check(local)).allowed).toBe(false)
      store.state = 'up'
      await pass(200)
      await check()
      await pass(10_000)
    }
  })

  it('allows at most the share of each process, for any behaviour of the store', async () => {
    const steps = fc.array(
      fc.record({
        state: fc.constantFrom('failing', 'hanging', 'failing', 'up'),
        process: fc.nat({ max: 1 }),
        cost: fc.integer({ min: 1, max: 7 }),
        checks: fc.integer({ min: 1, max: 8 }),
        method: fc.constantFrom('check', 'take', 'peek'),
        waitMs: fc.constantFrom(0, 0, 1, 60, 250),
      }),
      { minLength: 1, maxLength: 30 },
    )
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(...ALGORITHM_NAMES), async (trace, algorithm) => {
        const numbers = {
          'token-bucket': { capacity: 10, refillRate: '1/365d' },
          'leaky-bucket': { capacity: 10, leakRate: '1/365d' },
        }[algorithm as string] ?? { limit: 10, window: '365d' }
        const policy = definePolicy({
          algorithm,
          ...numbers,
          name: 'shared',
          onStoreFailure: 'local',
          instances: 2,
        } as never)
        const { store, timers, guarded, environment, pass } = setUp()
        const processes = [guarded, guard(store, {}, environment).guarded]
        await Promise.all(processes.map((one) => one.peek({ policy, key: 'k', cost: 1 })))
        const allowedUnits = { local: [0, 0], store: 0 }
        for (const { state, process, cost, checks, method, waitMs } of trace) {
          store.state = state
          const one = processes[process]!
          const request = { policy, key: 'k', cost }
          const calls = Array.from({ length: checks }, async () =>
            method === 'take' ? (await one.take([request])).decisions[0]! : one[method](request),
          )
          await pass(60)
          for (const { allowed, degraded } of await Promise.all(calls)) {
            if (!allowed || method === 'peek') continue
            if (degraded === 'local') allowedUnits.local[process]! += cost
            else allowedUnits.store += cost
          }
          store.deliver()
          await pass(waitMs)
        }
        expect(timers.now()).toBeLessThan(10_000)
        for (const units of allowedUnits.local) expect(units).toBeLessThanOrEqual(5)
        expect(allowedUnits.store).toBeLessThanOrEqual(10)
      }),
      { numRuns: 100 },
    )
  })
})

describe('with a denial cache', () => {
  type Wrap = (store: Store) => Store

  it.each([
    ['around', (store: Store, wrap: Wrap, now: () => number) => withDenialCache(wrap(store), { now })],
    ['inside', (store: Store, wrap: Wrap, now: () => number) => wrap(withDenialCache(store, { now }))],
  ])(
    '%s it, degraded decisions are not cached, and cached denials do not count as responses of the store',
    async (_, combine) => {
      const { store, environment, pass } = setUp()
      const wrap: Wrap = (inner) => guard(inner, {}, environment).guarded
      const both = combine(store, wrap, environment.timers.now)
      const check = (key: string) => both.check({ policy: closed, key, cost: 1000 })
      await check('full')
      expect(await check('full')).toMatchObject({ allowed: false })
      store.state = 'failing'
      for (let i = 0; i < 10; i++) {
        expect(await check('full')).not.toHaveProperty('degraded')
        expect(await check(`new ${i}`)).toMatchObject({ allowed: false, degraded: 'closed' })
      }
      store.state = 'up'
      await pass(200)
      expect(await check('new 0')).toMatchObject({ allowed: true })
    },
  )

  function setUpCached(options: FailureOptions = {}) {
    const { store, environment } = setUp()
    const cached = withDenialCache(store, { now: environment.timers.now })
    return { store, ...guard(cached, options, environment) }
  }
  const full = { policy: local, key: 'full', cost: 10 }
  const flood = { policy: open, key: 'flood', cost: 1 }

  it('a cached denial is used before the breaker, and does not affect its state', async () => {
    const { store, guarded, pass, eventsOf } = setUpCached()
    await guarded.check(full)
    await guarded.check(full)
    store.state = 'failing'
    for (let i = 0; i < 5; i++) await guarded.check(flood)
    await pass(200)
    store.methods.length = 0
    for (let i = 0; i < 3; i++) {
      const { allowed, decisions } = await guarded.take([flood, full])
      expect([allowed, decisions[0]]).toStrictEqual([false, undefined])
      for (const decision of [await guarded.check(full), decisions[1]]) {
        expect(decision).toMatchObject({ allowed: false })
        expect(decision).not.toHaveProperty('degraded')
      }
    }
    expect([guarded.breakerState, store.methods]).toStrictEqual(['open', []])
    expect(eventsOf('store')).toMatchObject([{ isUp: false }])
    store.state = 'up'
    expect(await guarded.check(flood)).not.toHaveProperty('degraded')
    expect(guarded.breakerState).toBe('closed')
  })

  it('a flood does not get a denied client through, alone or in a take, until its wait is over', async () => {
    const { store, guarded, pass, environment } = setUpCached({ maxInFlight: 1 })
    const minute = fixedWindow({ limit: 10, window: '1m', name: 'minute', onStoreFailure: 'open' })
    const denied = { policy: minute, key: 'full', cost: 10 }
    await guarded.check(denied)
    const { retryAfterMs } = await guarded.check(denied)
    expect(retryAfterMs).toBeGreaterThan(3000)
    const waitEndsMs = environment.timers.now() + retryAfterMs
    store.state = 'hanging'
    // Longer than the cap of the cache, which is 1 s.
    for (const passMs of [0, 999, 1, 1000, waitEndsMs - 2001]) {
      await pass(passMs)
      void guarded.check(flood)
      const { allowed, decisions } = await guarded.take([flood, denied])
      expect([allowed, decisions[0]]).toStrictEqual([false, undefined])
      for (const decision of [await guarded.check(denied), decisions[1]]) {
        expect(decision).toMatchObject({ allowed: false })
        expect(decision).not.toHaveProperty('degraded')
      }
      expect(await guarded.peek(denied)).toMatchObject({ degraded: 'local' })
      // A lower cost was not denied.
      expect(await guarded.check({ ...denied, cost: 1 })).toMatchObject({ degraded: 'local' })
      store.deliver()
    }
    await pass(1)
    void guarded.check(flood)
    expect(await guarded.check(denied)).toMatchObject({ degraded: 'local', reason: 'overload' })
    store.deliver()
  })

  it('a failure falls back to onStoreFailure once the denial has expired from the cache', async () => {
    const { store, guarded, pass } = setUpCached()
    await guarded.check(full)
    await guarded.check(full)
    await pass(1000)
    store.state = 'failing'
    expect(await guarded.check({ ...full, cost: 10 })).toMatchObject({ degraded: 'local' })
  })
})

it('passes ready on if the store has it, and is marked as guarded', async () => {
  let calls = 0
  const ready = async () => void calls++
  const { guarded } = guardFallible({ traits: { ready } })
  await guarded.traits.ready?.()
  expect([guarded.traits.kind, calls]).toStrictEqual(['guarded', 1])
  expect(guardFallible().guarded.traits).toStrictEqual({ kind: 'guarded' })
})

it.each([
  [{ deadlineMs: 0 }, 'deadlineMs'],
  [{ deadlineMs: '50' }, 'deadlineMs'],
  [{ deadlineMs: Number.POSITIVE_INFINITY }, 'deadlineMs'],
  [{ connectTimeoutMs: 60_001 }, 'connectTimeoutMs'],
  [{ maxInFlight: 0.5 }, 'maxInFlight'],
  [{ onEvent: 'log' }, 'onEvent'],
  [{ timeoutMs: 50 }, 'timeoutMs'],
])('rejects invalid options: %j', (options, field) => {
  expect(() => withFallback(new MemoryStore(), options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field }),
  )
})

it('rejects an invalid store', () => {
  expect(() => withFallback({} as never)).toThrow(expect.objectContaining({ field: 'store' }))
})
