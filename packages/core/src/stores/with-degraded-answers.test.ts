import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { fixedWindow, type OnStoreFailure, slidingWindowLog } from '../policy.js'
import { createLocalCounts } from './local-counts.js'
import type { Store, TakeRequest } from './store.js'
import { storeFailed } from './store-failure.js'
import { withDegradedAnswers } from './with-degraded-answers.js'

const START_MS = 1_800_000_000_000
const policies = {
  open: fixedWindow({ limit: 4, window: '1h', name: 'open', onStoreFailure: 'open', instances: 2 }),
  closed: fixedWindow({ limit: 4, window: '1h', name: 'closed', onStoreFailure: 'closed' }),
  local: fixedWindow({ limit: 4, window: '1h', name: 'local', onStoreFailure: 'local', instances: 2 }),
}

function setUp() {
  const clock = new ManualClock(START_MS)
  const fallible = new FallibleStore(clock)
  let isOverloaded = false
  const store: Store = {
    ...fallible,
    check(request) {
      if (isOverloaded) throw storeFailed('too-many-in-flight', 'full')
      return fallible.check(request)
    },
    take(requests) {
      if (isOverloaded) throw storeFailed('too-many-in-flight', 'full')
      return fallible.take(requests)
    },
    close: () => fallible.close(),
  }
  const told: string[] = []
  const waitMs = () => 1500
  const answering = withDegradedAnswers(store, {
    counts: createLocalCounts({ clock, now: new ManualTimers().now, waitMs }),
    clock,
    waitMs,
    onDegraded: (mode, reason) => told.push(`${mode} ${reason}`),
  })
  return {
    clock,
    store: fallible,
    answering,
    told,
    overload: () => {
      isOverloaded = true
    },
    check: (mode: OnStoreFailure, cost = 1) => answering.check({ policy: policies[mode], key: 'k', cost }),
    take: (...modes: OnStoreFailure[]) =>
      answering.take(modes.map((mode) => ({ policy: policies[mode], key: 'k', cost: 1 }))),
  }
}

describe('while the store answers', () => {
  it('its answers are left as they are, and nobody is told anything', async () => {
    const { store, check, take, told } = setUp()
    expect(await check('local', 3)).toStrictEqual({
      ...store.memory.peek({ policy: policies.local, key: 'k', cost: 1 }),
      cost: 3,
    })
    expect(await take('open', 'closed')).toMatchObject({ allowed: true, decisions: [{ remaining: 3 }, {}] })
    expect(told).toStrictEqual([])
  })

  it('plain values and what is thrown at once become promises', async () => {
    const { answering, clock } = setUp()
    const near = withDegradedAnswers(new FallibleStore(clock).memory, {} as never)
    const call = near.check({ policy: policies.open, key: 'k', cost: 1 })
    expect(call).toBeInstanceOf(Promise)
    expect(await call).toMatchObject({ allowed: true, remaining: 3 })
    const wrong = answering.check({ policy: policies.open, key: '', cost: 1 })
    await expect(wrong).rejects.toMatchObject({ code: 'KEY_INVALID' })
  })
})

describe('while the store fails', () => {
  it('open lets everything through, and invents no number', async () => {
    const { store, check, told } = setUp()
    store.mood = 'fails'
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
    expect([told.length, told[0]]).toStrictEqual([100, 'open failure'])
  })

  it('closed refuses everything, and says when to ask again', async () => {
    const { store, check, told } = setUp()
    store.mood = 'fails'
    expect(await check('closed')).toStrictEqual({
      allowed: false,
      limit: 4,
      cost: 1,
      remaining: 0,
      retryAfterMs: 1500,
      resetAfterMs: 0,
      delayMs: 0,
      timeMs: START_MS,
      policy: 'closed',
      degraded: 'closed',
    })
    expect(told).toStrictEqual(['closed failure'])
  })

  it('local counts in this process: its share, and no dearer request', async () => {
    const { store, check, told } = setUp()
    store.mood = 'fails'
    const answers = [
      await check('local', 3),
      await check('local'),
      await check('local'),
      await check('local'),
    ]
    expect(answers.map(({ allowed, degraded }) => [allowed, degraded])).toStrictEqual([
      [false, 'local'],
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ])
    expect(told).toStrictEqual(Array(4).fill('local failure'))
  })

  it('nothing that was counted here is carried over to the store', async () => {
    const { store, check } = setUp()
    store.mood = 'fails'
    await check('local', 2)
    await check('open', 4)
    store.mood = 'answers'
    expect(await check('local')).toMatchObject({ remaining: 3 })
    expect(await check('open')).toMatchObject({ remaining: 3 })
  })

  it('a peek answers as a check would, and takes nothing', async () => {
    const { store, answering, check } = setUp()
    store.mood = 'fails'
    for (const mode of ['open', 'closed', 'local', 'local', 'local'] as const) {
      const peek = await answering.peek({ policy: policies[mode], key: 'k', cost: 1 })
      expect(peek).toMatchObject({ allowed: mode !== 'closed', degraded: mode })
    }
    expect(await check('local', 2)).toMatchObject({ allowed: true })
  })

  it.each([
    ['open', ['open', 'open'], true, ['open', 'open'], 'open'],
    ['local over open', ['open', 'local'], true, ['open', 'local'], 'local'],
    ['closed over open', ['open', 'closed'], false, ['open', 'closed'], 'closed'],
    ['closed over local', ['closed', 'local', 'open'], false, ['closed', 'local', 'open'], 'closed'],
  ] as const)('of a take the strictest decides: %s', async (_, modes, allowed, degraded, strictest) => {
    const { store, take, told } = setUp()
    store.mood = 'fails'
    const result = await take(...modes)
    expect(result.allowed).toBe(allowed)
    expect(result.retryAfterMs).toBe(allowed ? 0 : 1500)
    expect(result.decisions.map((decision) => decision?.degraded)).toStrictEqual(degraded)
    expect(result.decisions.map((decision) => decision?.allowed)).toStrictEqual(
      modes.map((mode) => mode !== 'closed'),
    )
    expect(told).toStrictEqual([`${strictest} failure`])
  })

  it('a take that is refused has counted nothing here', async () => {
    const { store, check, take } = setUp()
    store.mood = 'fails'
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

  it('a limit that two policies of one name share is as strict as the stricter of them', async () => {
    const { store, answering } = setUp()
    store.mood = 'fails'
    const [lax, strict] = (['open', 'closed'] as const).map((onStoreFailure) => ({
      policy: slidingWindowLog({ limit: 9, window: '1m', name: 'both', onStoreFailure }),
      key: 'k',
      cost: 2,
    })) as [TakeRequest, TakeRequest]
    for (const requests of [
      [lax, strict],
      [strict, lax],
    ]) {
      expect(await answering.take(requests)).toMatchObject({
        allowed: false,
        decisions: [
          { allowed: false, cost: 2, degraded: 'closed' },
          { allowed: false, cost: 2, degraded: 'closed' },
        ],
      })
    }
  })

  it('wrong input is refused as ever, and nobody is told', async () => {
    const { store, answering, told } = setUp()
    store.mood = 'fails'
    const { open: policy } = policies
    const right = { policy, key: 'k', cost: 1 }
    for (const [wrong, code] of [
      [{ cost: 0 }, 'COST_INVALID'],
      [{ cost: 5 }, 'COST_ABOVE_LIMIT'],
      [{ key: '' }, 'KEY_INVALID'],
      [{ policy: { ...policy } }, 'POLICY_INVALID'],
    ] as const) {
      const request = { ...right, ...wrong } as never
      await expect(answering.check(request)).rejects.toMatchObject({ code })
      await expect(answering.peek(request)).rejects.toMatchObject({ code })
      await expect(answering.take([right, request])).rejects.toMatchObject({ code })
    }
    await expect(answering.take([])).rejects.toMatchObject({ code: 'TAKE_INVALID' })
    await expect(
      answering.take([
        { ...right, cost: 3 },
        { ...right, cost: 2 },
      ]),
    ).rejects.toMatchObject({
      code: 'COST_ABOVE_LIMIT',
    })
    await expect(answering.refund({ ...right, timeMs: START_MS, cost: 0 })).rejects.toMatchObject({
      code: 'REFUND_INVALID',
    })
    await expect(answering.reset({ policy, key: '' })).rejects.toMatchObject({ code: 'KEY_INVALID' })
    await expect(answering.check(undefined as never)).rejects.toThrow(TypeError)
    expect(told).toStrictEqual([])
  })

  it('a refund that fails gives 0 and is not sent again', async () => {
    const { store, answering, check } = setUp()
    const { timeMs } = await check('open', 2)
    store.mood = 'fails'
    store.asked.length = 0
    expect(await answering.refund({ policy: policies.open, key: 'k', timeMs, cost: 2 })).toBe(0)
    expect(store.asked).toStrictEqual(['refund'])
  })

  it('a refund goes where its decision was counted', async () => {
    const { store, answering, check } = setUp()
    const refund = (mode: OnStoreFailure, timeMs: number, cost: number, degraded?: OnStoreFailure) =>
      answering.refund({ policy: policies[mode], key: 'k', timeMs, cost, degraded })
    await check('local', 2)
    store.mood = 'fails'
    const local = await check('local', 2)
    const open = await check('open', 2)
    store.mood = 'answers'
    store.asked.length = 0
    expect(await refund('local', local.timeMs, 1, local.degraded)).toBe(1)
    expect(await refund('open', open.timeMs, 2, open.degraded)).toBe(0)
    expect(await refund('closed', open.timeMs, 2, 'closed')).toBe(0)
    expect(store.asked).toStrictEqual([])
    expect(await check('local')).toMatchObject({ remaining: 1 })
    store.mood = 'fails'
    expect(await check('local')).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('a reset that fails rejects, though it forgets what was counted here', async () => {
    const { store, answering, check } = setUp()
    store.mood = 'fails'
    await check('local', 2)
    const { local: policy } = policies
    await expect(answering.reset({ policy, key: 'k' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await check('local')).toMatchObject({ allowed: true, remaining: 1 })
    store.mood = 'answers'
    await answering.reset({ policy, key: 'k' })
    store.mood = 'fails'
    expect(await check('local', 2)).toMatchObject({ allowed: true })
  })

  it('what is no error of ours is a failure like any other', async () => {
    const { clock, told } = setUp()
    for (const error of [new TypeError('broken'), undefined, { code: 'ECONNRESET' }]) {
      const broken = { check: () => Promise.reject(error) } as unknown as Store
      const answering = withDegradedAnswers(broken, {
        clock,
        onDegraded: (mode: string) => told.push(mode),
      } as never)
      const answer = await answering.check({ policy: policies.open, key: 'k', cost: 1 })
      expect(answer).toMatchObject({ allowed: true, degraded: 'open' })
    }
    expect(told).toStrictEqual(['open', 'open', 'open'])
  })

  it('after close there is no answer, only STORE_FAILED', async () => {
    const { answering, check } = setUp()
    await answering.close()
    for (const mode of ['open', 'closed', 'local'] as const) {
      await expect(check(mode)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    }
    await expect(answering.close()).resolves.toBeUndefined()
  })
})

describe('while too much is in flight', () => {
  it('open and local count in this process, so that a flood does not open the gate', async () => {
    const { overload, check, told } = setUp()
    overload()
    for (const mode of ['open', 'local'] as const) {
      const answers = await Promise.all(Array.from({ length: 1000 }, () => check(mode)))
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(2)
      expect(answers.every(({ degraded }) => degraded === 'local')).toBe(true)
    }
    expect(new Set(told)).toStrictEqual(new Set(['local overload']))
  })

  it('closed refuses', async () => {
    const { overload, check, take, told } = setUp()
    overload()
    expect(await check('closed')).toMatchObject({ allowed: false, degraded: 'closed', retryAfterMs: 1500 })
    expect(await take('open', 'closed')).toMatchObject({
      allowed: false,
      decisions: [{ degraded: 'local' }, { degraded: 'closed' }],
    })
    expect(told).toStrictEqual(['closed overload', 'closed overload'])
  })
})
