import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { ALGORITHM_NAMES, definePolicy, fixedWindow } from '../policy.js'
import { rememberRefusals } from './remember-refusals.js'
import type { Store } from './store.js'
import { CIRCUMSTANCES, type FailureEvent, type FailureOptions, surviveFailures } from './survive-failures.js'

const START_MS = 1_800_000_000_000
const open = fixedWindow({ limit: 1_000_000, window: '365d', name: 'open' })
const closed = fixedWindow({ limit: 1000, window: '365d', name: 'closed', onStoreFailure: 'closed' })
const local = fixedWindow({ limit: 10, window: '365d', name: 'local', onStoreFailure: 'local', instances: 2 })

/** A store that can fail, with everything around it, on one time that stands still. */
function setUp(options: FailureOptions = {}) {
  const clock = new ManualClock(START_MS)
  const timers = new ManualTimers()
  const store = new FallibleStore(clock)
  const events: FailureEvent[] = []
  const circumstances = { clock, timers, random: () => 0.5 }
  const surviving = surviveFailures(store, {
    onEvent: (event) => events.push(event),
    ...options,
    [CIRCUMSTANCES]: circumstances,
  } as FailureOptions)
  const check = (policy = open, cost = 1, key = 'k') => surviving.check({ policy, key, cost })
  return {
    store,
    timers,
    surviving,
    events,
    circumstances,
    check,
    async pass(ms: number) {
      clock.advance(ms)
      await timers.pass(ms)
    },
    /** Opens the breaker. */
    async fail() {
      store.mood = 'fails'
      for (let i = 0; i < 5; i++) await check()
    },
  }
}

it('a store that is closed behind its back has not failed: every call is told so', async () => {
  const { store, surviving, events, check } = setUp()
  const { timeMs } = await check()
  store.close()
  const request = { policy: open, key: 'k', cost: 1 }
  for (let i = 0; i < 10; i++) {
    for (const call of [check(), surviving.take([request]), surviving.refund({ ...request, timeMs })]) {
      await expect(call).rejects.toMatchObject({ code: 'STORE_FAILED', cause: 'closed' })
    }
  }
  expect([surviving.breakerState, events]).toStrictEqual(['closed', []])
})

describe('an outage under load', () => {
  /** Two checks each millisecond: 1 s of normal life, 5 s without the store, 2.5 s with it again. */
  async function live(outage: 'fails' | 'hangs') {
    const { store, timers, surviving, check, pass } = setUp()
    await check()
    const answers: { madeMs: number; tookMs: number; decision: Decision }[] = []
    const askedUpTo: number[] = []
    for (const [phase, mood, lengthMs] of [
      [0, 'answers', 1000],
      [1, outage, 5000],
      [2, 'answers', 2500],
    ] as const) {
      store.mood = mood
      for (let ms = 0; ms < lengthMs; ms++) {
        const madeMs = timers.now()
        for (let i = 0; i < 2; i++) {
          void check().then((decision) => answers.push({ madeMs, tookMs: timers.now() - madeMs, decision }))
        }
        await pass(1)
      }
      askedUpTo[phase] = store.asked.length
    }
    return { answers, askedUpTo, surviving }
  }

  it.each([
    ['fails', 0, 5 + 5],
    ['hangs', 50, 2 * 54 + 5],
  ] as const)(
    'of a store that %s keeps nobody waiting beyond the deadline, and leaves the store alone',
    async (mood, waitMs, asked) => {
      const { answers, askedUpTo, surviving } = await live(mood)
      expect(answers).toHaveLength(2 * 8500)
      expect(answers.every(({ decision }) => decision.allowed)).toBe(true)
      expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBe(waitMs)
      // What was on its way until the breaker opened, and after that the probes.
      expect(askedUpTo[1]! - askedUpTo[0]!).toBeLessThanOrEqual(asked)
      // Exact again with the next probe, at most 2 s after the store is back.
      const degraded = answers.filter(({ decision }) => decision.degraded !== undefined)
      expect(Math.max(...degraded.map(({ madeMs }) => madeMs))).toBeLessThan(8000)
      expect(Math.min(...degraded.map(({ madeMs }) => madeMs))).toBeGreaterThanOrEqual(1000)
      expect(surviving.breakerState).toBe('closed')
    },
  )

  it('sends no check twice, and none after the fact', async () => {
    const { store, surviving, check, pass } = setUp()
    await check()
    store.mood = 'hangs'
    const calls = Array.from({ length: 100 }, () => check())
    await pass(60)
    expect((await Promise.all(calls)).every(({ degraded }) => degraded === 'open')).toBe(true)
    store.mood = 'answers'
    store.arrive()
    await pass(60_000)
    expect(store.asked).toHaveLength(101)
    // They had been carried out before their answers were lost. That is all that is missing.
    expect((await surviving.peek({ policy: open, key: 'k', cost: 1 })).remaining).toBe(1_000_000 - 101)
  })
})

it('an answer without the store is of what was asked, whatever becomes of the list meanwhile', async () => {
  const { store, surviving, check, pass } = setUp()
  await check()
  store.mood = 'hangs'
  const requests = ['a', 'b'].map((key) => ({ policy: local, key, cost: 1 }))
  const taking = surviving.take(requests)
  requests.length = 0
  await pass(60)
  const { allowed, decisions } = await taking
  expect([allowed, decisions.map((decision) => decision?.degraded)]).toStrictEqual([true, ['local', 'local']])
})

it.each(['check', 'peek'] as const)(
  'a %s without the store is of what was asked, whatever becomes of the request meanwhile',
  async (method) => {
    const { store, surviving, check, pass } = setUp()
    await check()
    store.mood = 'hangs'
    const request = { policy: local, key: 'a', cost: 1 }
    const asking = surviving[method](request)
    Object.assign(request, { policy: closed, key: 'b', cost: 2 })
    await pass(60)
    expect(await asking).toMatchObject({ allowed: true, cost: 1, policy: local.name, degraded: 'local' })
  },
)

describe('a cold start', () => {
  it('is no outage while the store is slow to connect', async () => {
    const { store, check, pass, events } = setUp()
    store.mood = 'hangs'
    const calls = Array.from({ length: 20 }, () => check())
    await pass(900)
    store.arrive()
    expect((await Promise.all(calls)).map(({ degraded }) => degraded)).toStrictEqual(
      Array(20).fill(undefined),
    )
    expect(events).toStrictEqual([])
  })

  it('ends after connectTimeoutMs', async () => {
    const { store, check, pass } = setUp({ connectTimeoutMs: 300 })
    store.mood = 'hangs'
    const call = check(closed)
    await pass(300)
    expect(await call).toMatchObject({ allowed: false, degraded: 'closed' })
  })
})

describe('when a busy process misses answers', () => {
  it('the breaker stays closed', async () => {
    const { store, timers, surviving, check, events } = setUp()
    for (let round = 0; round < 10; round++) {
      store.mood = 'answers'
      await check()
      store.mood = 'hangs'
      const calls = Array.from({ length: 50 }, () => check())
      await timers.block(500)
      expect((await Promise.all(calls))[0]!.degraded).toBe('open')
    }
    expect(surviving.breakerState).toBe('closed')
    expect(events.filter(({ type }) => type === 'breaker')).toStrictEqual([])
  })
})

describe('too much in flight', () => {
  it('is answered at once and from a local count, and told apart from a failed store', async () => {
    const { store, surviving, check, events, pass } = setUp({ maxInFlight: 100 })
    await check()
    store.mood = 'hangs'
    const early = Array.from({ length: 100 }, () => check())
    const few = fixedWindow({ limit: 7, window: '365d', name: 'few' })
    const flood = await Promise.all(Array.from({ length: 1000 }, () => check(few)))
    expect(flood.filter(({ allowed }) => allowed)).toHaveLength(7)
    expect(await check(closed)).toMatchObject({ allowed: false, degraded: 'closed', retryAfterMs: 1000 })
    expect(events).toStrictEqual([
      ...Array(1000).fill({ type: 'degraded', mode: 'local', reason: 'overload' }),
      { type: 'degraded', mode: 'closed', reason: 'overload' },
    ])
    expect([surviving.breakerState, store.asked.length]).toStrictEqual(['closed', 101])
    store.arrive()
    await Promise.all(early)
    store.mood = 'answers'
    await pass(1)
    expect((await check(few)).degraded).toBe(undefined)
  })
})

describe('what happens can be watched', () => {
  it('changes once each, failures and degraded answers each time', async () => {
    const { store, surviving, check, pass, fail, events } = setUp()
    await fail()
    expect(events.filter(({ type }) => type !== 'degraded' && type !== 'call-failed')).toStrictEqual([
      { type: 'breaker', state: 'open', part: undefined },
      { type: 'store', isUp: false, error: expect.objectContaining({ message: 'The store is down.' }) },
    ])
    expect(events.filter(({ type }) => type === 'call-failed')).toStrictEqual(
      Array(5).fill({
        type: 'call-failed',
        isTimeout: false,
        error: expect.objectContaining({ code: 'STORE_FAILED' }),
      }),
    )
    expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(5)
    expect(surviving.breakerState).toBe('open')

    events.length = 0
    await check()
    await pass(200)
    await check(closed)
    store.mood = 'answers'
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

  it('a time-out is told as one', async () => {
    const { store, check, pass, events } = setUp()
    await check()
    store.mood = 'hangs'
    const call = check()
    await pass(50)
    await call
    expect(events[0]).toMatchObject({ type: 'call-failed', isTimeout: true })
  })

  it('a listener that throws harms nobody', async () => {
    const { check, fail } = setUp({
      onEvent() {
        throw new Error('a mistake')
      },
    })
    await fail()
    expect(await check()).toMatchObject({ allowed: true, degraded: 'open' })
  })
})

describe('who is refused while the store is down', () => {
  it('is told to wait until it will be asked again, and never less than a second', async () => {
    const { check, pass, fail } = setUp()
    await fail()
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

describe('counting in this process', () => {
  it('ends when the store is back, and the shared count goes on where it was', async () => {
    const { store, check, pass, fail } = setUp()
    await check(local, 4)
    await fail()
    expect((await check(local, 5)).allowed).toBe(true)
    expect(await check(local)).toMatchObject({ allowed: false, degraded: 'local' })
    store.mood = 'answers'
    await pass(200)
    expect(await check(local)).toMatchObject({ allowed: true, remaining: 5 })
  })

  it('begins empty with each outage', async () => {
    const { store, check, pass, fail } = setUp()
    for (let outage = 0; outage < 3; outage++) {
      await fail()
      expect((await check(local, 5)).allowed).toBe(true)
      expect((await check(local)).allowed).toBe(false)
      store.mood = 'answers'
      await pass(200)
      await check()
      await pass(10_000)
    }
  })

  it('never lets more through than the share of each process, however the store comes and goes', async () => {
    const steps = fc.array(
      fc.record({
        mood: fc.constantFrom('fails', 'hangs', 'fails', 'answers'),
        process: fc.nat({ max: 1 }),
        cost: fc.integer({ min: 1, max: 7 }),
        checks: fc.integer({ min: 1, max: 8 }),
        method: fc.constantFrom('check', 'take', 'peek'),
        waitMs: fc.constantFrom(0, 0, 1, 60, 250),
      }),
      { minLength: 1, maxLength: 30 },
    )
    const numbers = { limit: 10, window: '365d', capacity: 10, refillRate: '1/365d', leakRate: '1/365d' }
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(...ALGORITHM_NAMES), async (trace, algorithm) => {
        const { limit, window, capacity, refillRate, leakRate } = numbers
        const own = algorithm === 'token-bucket' ? { capacity, refillRate } : { capacity, leakRate }
        const policy = definePolicy({
          algorithm,
          ...(algorithm.endsWith('bucket') ? own : { limit, window }),
          name: 'shared',
          onStoreFailure: 'local',
          instances: 2,
        })
        const { store, timers, surviving, circumstances, pass } = setUp()
        const other = surviveFailures(store, { [CIRCUMSTANCES]: circumstances } as FailureOptions)
        const processes = [surviving, other]
        await Promise.all(processes.map((one) => one.peek({ policy, key: 'k', cost: 1 })))
        const admitted = { here: [0, 0], store: 0 }
        for (const { mood, process, cost, checks, method, waitMs } of trace) {
          store.mood = mood
          const one = processes[process]!
          const request = { policy, key: 'k', cost }
          const calls = Array.from({ length: checks }, async () =>
            method === 'take' ? (await one.take([request])).decisions[0]! : one[method](request),
          )
          await pass(60)
          for (const { allowed, degraded } of await Promise.all(calls)) {
            if (!allowed || method === 'peek') continue
            if (degraded === 'local') admitted.here[process]! += cost
            else admitted.store += cost
          }
          store.arrive()
          await pass(waitMs)
        }
        expect(timers.now()).toBeLessThan(10_000)
        for (const units of admitted.here) expect(units).toBeLessThanOrEqual(5)
        expect(admitted.store).toBeLessThanOrEqual(10)
      }),
      { numRuns: 100 },
    )
  })
})

describe('with a memory of refusals', () => {
  type Wrap = (store: Store) => Store

  it.each([
    ['around it', (store: Store, wrap: Wrap, now: () => number) => rememberRefusals(wrap(store), { now })],
    ['inside it', (store: Store, wrap: Wrap, now: () => number) => wrap(rememberRefusals(store, { now }))],
  ])(
    '%s, no degraded answer is remembered, and no remembered one speaks for the store',
    async (_, combine) => {
      const { store, circumstances, pass } = setUp()
      const wrap: Wrap = (inner) =>
        surviveFailures(inner, { [CIRCUMSTANCES]: circumstances } as FailureOptions)
      const both = combine(store, wrap, circumstances.timers.now)
      const check = (key: string) => both.check({ policy: closed, key, cost: 1000 })
      await check('full')
      expect(await check('full')).toMatchObject({ allowed: false })
      store.mood = 'fails'
      for (let i = 0; i < 10; i++) {
        expect(await check('full')).not.toHaveProperty('degraded')
        expect(await check(`new ${i}`)).toMatchObject({ allowed: false, degraded: 'closed' })
      }
      store.mood = 'answers'
      await pass(200)
      expect(await check('new 0')).toMatchObject({ allowed: true })
    },
  )

  it('nobody who is refused gets through by a flood, alone or in a take, until the refusal has run out', async () => {
    const { store, circumstances, pass } = setUp()
    const surviving = surviveFailures(rememberRefusals(store, { now: circumstances.timers.now }), {
      maxInFlight: 1,
      [CIRCUMSTANCES]: circumstances,
    } as FailureOptions)
    const request = { policy: local, key: 'full', cost: 10 }
    await surviving.check(request)
    expect(await surviving.check(request)).toMatchObject({ allowed: false })
    store.mood = 'hangs'
    const flood = { policy: open, key: 'flood', cost: 1 }
    void surviving.check(flood)
    expect(await surviving.check({ ...request, cost: 1 })).toMatchObject({ degraded: 'local' }) // a cheaper one asks
    for (const refused of [await surviving.check(request), await surviving.take([flood, request])]) {
      expect(refused).toMatchObject({ allowed: false })
      expect(refused).not.toHaveProperty('degraded')
    }
    expect(await surviving.peek(request)).toMatchObject({ degraded: 'local' })
    store.arrive()
    await pass(1000)
    void surviving.check(flood)
    expect(await surviving.check(request)).toMatchObject({ degraded: 'local' })
  })
})

it('refuses options that mean nothing', () => {
  const store = new MemoryStore()
  for (const [options, field] of [
    [{ deadlineMs: 0 }, 'deadlineMs'],
    [{ deadlineMs: '50' }, 'deadlineMs'],
    [{ deadlineMs: Number.POSITIVE_INFINITY }, 'deadlineMs'],
    [{ connectTimeoutMs: 60_001 }, 'connectTimeoutMs'],
    [{ maxInFlight: 0.5 }, 'maxInFlight'],
    [{ onEvent: 'log' }, 'onEvent'],
    [{ timeoutMs: 50 }, 'timeoutMs'],
  ] as const) {
    expect(() => surviveFailures(store, options as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field }),
    )
  }
  expect(() => surviveFailures({} as never)).toThrow(expect.objectContaining({ field: 'store' }))
})
