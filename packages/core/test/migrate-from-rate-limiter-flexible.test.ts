import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRes,
  RateLimiterUnion,
} from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  MemoryStore,
  type SyncLimiter,
} from '../src/index.js'
import { randomFrom } from '../src/testing/index.js'

// Each row of docs/users/migrate-from-rate-limiter-flexible.md, with both libraries on the same clock.

const START = Date.parse('2030-01-01T09:30:17.250Z')
beforeEach(() => {
  vi.useFakeTimers({ now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The outcome of a request, in the terms of both libraries. */
interface Outcome {
  allowed: boolean
  remaining: number
  /** Until the window, or the block, ends. */
  waitMs: number
}

async function consume(
  limiter: { consume(key: string, points: number): Promise<unknown> },
  cost = 1,
  key = 'key',
) {
  const [res, allowed] = await limiter.consume(key, cost).then(
    (res) => [res as RateLimiterRes, true] as const,
    (res) => [res as RateLimiterRes, false] as const,
  )
  expect(res).toBeInstanceOf(RateLimiterRes)
  return { allowed, remaining: res.remainingPoints, waitMs: res.msBeforeNext }
}

function outcomeOf({ allowed, remaining, resetAfterMs, retryAfterMs }: Decision): Outcome {
  return { allowed, remaining, waitMs: allowed ? resetAfterMs : retryAfterMs }
}

const check = (limiter: SyncLimiter, cost = 1, key = 'key') => outcomeOf(limiter.check(key, cost))

/** The same limit in both libraries. */
function both({ points = 10, duration = 60, blockDuration = 0 } = {}) {
  const original = new RateLimiterMemory({ points, duration, blockDuration })
  const tidegate = createLimiter({
    policy: fixedWindow({
      limit: points,
      window: `${duration}s`,
      start: 'first-request',
      countDenied: true,
      ...(blockDuration > 0 && { blockFor: `${blockDuration}s` }),
    }),
  })
  return { original, tidegate }
}

describe('points and duration', () => {
  it('the window starts with the first request, and denied requests count', async () => {
    const { original, tidegate } = both()
    for (const [atMs, cost, expected] of [
      [0, 9, { allowed: true, remaining: 1, waitMs: 60_000 }],
      [10_000, 2, { allowed: false, remaining: 0, waitMs: 50_000 }],
      [20_000, 1, { allowed: false, remaining: 0, waitMs: 40_000 }],
      [59_999, 1, { allowed: false, remaining: 0, waitMs: 1 }],
      [60_000, 1, { allowed: true, remaining: 9, waitMs: 60_000 }],
    ] as const) {
      vi.setSystemTime(START + atMs)
      expect(await consume(original, cost), `original at ${atMs}`).toStrictEqual(expected)
      expect(check(tidegate, cost), `tidegate at ${atMs}`).toStrictEqual(expected)
    }
  })

  it('random requests, with penalties and deletions', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      vi.setSystemTime(START)
      const random = randomFrom(seed)
      const { original, tidegate } = both()
      for (let i = 0; i < 200; i++) {
        await vi.advanceTimersByTimeAsync(random.between(1, 5000))
        const cost = random.between(1, 10)
        const action = random.oneOf(['consume', 'consume', 'consume', 'penalty', 'get', 'delete'])
        if (action === 'consume') {
          expect(check(tidegate, cost), `seed ${seed}, ${i}`).toStrictEqual(await consume(original, cost))
        } else if (action === 'penalty') {
          const res = await original.penalty('key', cost)
          const decision = tidegate.charge('key', cost)
          expect([decision.remaining, decision.resetAfterMs]).toStrictEqual([
            res.remainingPoints,
            res.msBeforeNext,
          ])
        } else if (action === 'delete') {
          await original.delete('key')
          tidegate.reset('key')
        }
        const res = await original.get('key')
        const { remaining, resetAfterMs } = tidegate.peek('key')
        expect([remaining, resetAfterMs]).toStrictEqual([res?.remainingPoints ?? 10, res?.msBeforeNext ?? 0])
      }
    }
  })
})

it('penalty: charge takes units even if they exceed the limit', async () => {
  const { original, tidegate } = both()
  await consume(original, 8)
  check(tidegate, 8)
  expect((await original.penalty('key', 5)).remainingPoints).toBe(0)
  expect(tidegate.charge('key', 5)).toMatchObject({ allowed: true, charged: 5, overBy: 3, remaining: 0 })
  expect(await consume(original)).toMatchObject({ allowed: false })
  expect(check(tidegate)).toMatchObject({ allowed: false })
})

it('reward: refund gives units of a decision back', async () => {
  const { original, tidegate } = both()
  await consume(original, 7)
  const decision = tidegate.check('key', 7)
  expect((await original.reward('key', 4)).remainingPoints).toBe(7)
  tidegate.refund('key', decision, 4)
  expect(tidegate.peek('key').remaining).toBe(7)
})

it('set: reset and charge', async () => {
  const { original, tidegate } = both()
  await consume(original, 2)
  check(tidegate, 2)
  await original.set('key', 7, 60)
  tidegate.reset('key')
  tidegate.charge('key', 7)
  expect(tidegate.peek('key').remaining).toBe((await original.get('key'))!.remainingPoints)
  expect(tidegate.peek('key').remaining).toBe(3)
})

describe('block', () => {
  it('denies until its end, and get shows it', async () => {
    const { original, tidegate } = both()
    await original.block('key', 300)
    tidegate.block('key', '5m')
    for (const atMs of [0, 299_999, 300_000]) {
      vi.setSystemTime(START + atMs)
      const expected =
        atMs < 300_000
          ? { allowed: false, remaining: 0, waitMs: 300_000 - atMs }
          : { allowed: true, remaining: 9, waitMs: 60_000 }
      expect(await consume(original)).toStrictEqual(expected)
      expect(check(tidegate)).toStrictEqual(expected)
    }
  })

  it('does not restore the limit, unlike rate-limiter-flexible', async () => {
    const { original, tidegate } = both()
    await consume(original, 10)
    check(tidegate, 10)
    await original.block('key', 1)
    tidegate.block('key', '1s')
    vi.setSystemTime(START + 1000)
    expect(await consume(original)).toMatchObject({ allowed: true, remaining: 9 })
    expect(check(tidegate)).toMatchObject({ allowed: false })
  })
})

it('blockDuration: blockFor blocks once the limit is used up, and is not prolonged', async () => {
  const { original, tidegate } = both({ points: 5, duration: 60, blockDuration: 900 })
  for (const [atMs, expected] of [
    ...[0, 1, 2, 3, 4].map(
      (i) => [i * 1000, { allowed: true, remaining: 4 - i, waitMs: 60_000 - i * 1000 }] as const,
    ),
    [5000, { allowed: false, remaining: 0, waitMs: 900_000 }],
    [600_000, { allowed: false, remaining: 0, waitMs: 305_000 }],
    [905_000, { allowed: true, remaining: 4, waitMs: 60_000 }],
  ] as const) {
    vi.setSystemTime(START + atMs)
    expect(await consume(original), `original at ${atMs}`).toStrictEqual(expected)
    expect(check(tidegate), `tidegate at ${atMs}`).toStrictEqual(expected)
  }
})

it('BurstyRateLimiter: a second limit for requests that the first one denies', async () => {
  const bursty = new BurstyRateLimiter(
    new RateLimiterMemory({ points: 2, duration: 1, keyPrefix: 'steady' }),
    new RateLimiterMemory({ points: 5, duration: 10, keyPrefix: 'burst' }),
  )
  const store = new MemoryStore()
  const options = { start: 'first-request', countDenied: true } as const
  const steady = createLimiter({
    store,
    policy: fixedWindow({ ...options, limit: 2, window: '1s', name: 'steady' }),
  })
  const burst = createLimiter({
    store,
    policy: fixedWindow({ ...options, limit: 5, window: '10s', name: 'burst' }),
  })
  const checkBoth = (key: string) => {
    const decision = steady.check(key)
    return decision.allowed ? decision : burst.check(key)
  }
  const original: boolean[] = []
  const tidegate: boolean[] = []
  for (let i = 0; i < 60; i++) {
    vi.setSystemTime(START + i * 210)
    original.push((await consume(bursty)).allowed)
    tidegate.push(checkBoth('key').allowed)
  }
  expect(tidegate).toStrictEqual(original)
  expect(tidegate.filter(Boolean).length).toBeGreaterThan(25)
  expect(tidegate.filter((allowed) => !allowed).length).toBeGreaterThan(5)
})

it('RateLimiterUnion: take denies if one limit denies, and then takes from none', async () => {
  const perSecond = new RateLimiterMemory({ points: 1, duration: 1, keyPrefix: 'second' })
  const perMinute = new RateLimiterMemory({ points: 3, duration: 60, keyPrefix: 'minute' })
  const union = new RateLimiterUnion(perSecond, perMinute)
  const store = new MemoryStore()
  const start = 'first-request'
  const second = fixedWindow({ limit: 1, window: '1s', start, name: 'second' })
  const minute = fixedWindow({ limit: 3, window: '1m', start, name: 'minute' })
  const take = () => store.take([second, minute].map((policy) => ({ policy, key: 'key', cost: 1 }))).allowed
  const consumeUnion = () =>
    union.consume('key').then(
      () => true,
      () => false,
    )

  expect([await consumeUnion(), take()]).toStrictEqual([true, true])
  expect([await consumeUnion(), take()]).toStrictEqual([false, false])
  vi.setSystemTime(START + 1000)
  // rate-limiter-flexible counted the denied request in the minute.
  expect((await perMinute.get('key'))!.remainingPoints).toBe(1)
  expect(store.peek({ policy: minute, key: 'key', cost: 1 }).remaining).toBe(2)
  expect([await consumeUnion(), take()]).toStrictEqual([true, true])
  vi.setSystemTime(START + 2000)
  expect([await consumeUnion(), take()]).toStrictEqual([false, true])
})

describe('RateLimiterQueue', () => {
  it('wait serves calls in order, when their units are available', async () => {
    const { original } = both({ points: 2, duration: 1 })
    const queue = new RateLimiterQueue(original)
    const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '1s', start: 'first-request' }) })
    const log: Record<'original' | 'tidegate', [string, number][]> = { original: [], tidegate: [] }
    const calls = ['a', 'b', 'c', 'd', 'e'].map(async (name) => {
      const at = () => Date.now() - START
      await Promise.all([
        queue.removeTokens(1, 'key').then(() => log.original.push([name, at()])),
        limiter.wait('key').then(() => log.tidegate.push([name, at()])),
      ])
    })
    await vi.advanceTimersByTimeAsync(5000)
    await Promise.all(calls)
    expect(log.tidegate).toStrictEqual([
      ['a', 0],
      ['b', 0],
      ['c', 1000],
      ['d', 1000],
      ['e', 2000],
    ])
    expect(log.original.map(([name]) => name)).toStrictEqual(log.tidegate.map(([name]) => name))
    for (const [i, [, atMs]] of log.original.entries()) expect(atMs - log.tidegate[i]![1]).toBeLessThan(10)
  })

  it('maxQueueSize and expiresUnixAt: wait rejects at once if the wait is longer than timeoutMs', async () => {
    const { original } = both({ points: 1, duration: 60 })
    const queue = new RateLimiterQueue(original, { maxQueueSize: 1 })
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m', start: 'first-request' }) })
    await queue.removeTokens(1, 'key')
    await limiter.wait('key')
    void queue.removeTokens(1, 'key')
    await expect(queue.removeTokens(1, 'key')).rejects.toThrow('maximum 1')
    await expect(limiter.wait('key', { timeoutMs: 59_999 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })
  })
})

it('execEvenly: a leaky bucket spreads the requests, and wait waits for them', async () => {
  const limiter = createLimiter({ policy: leakyBucket({ capacity: 5, leakRate: 5 }) })
  const original = new RateLimiterMemory({ points: 5, duration: 1, execEvenly: true })
  const times: Record<'original' | 'tidegate', number[]> = { original: [], tidegate: [] }
  const calls = Array.from({ length: 5 }, () =>
    Promise.all([
      original.consume('key').then(() => times.original.push(Date.now() - START)),
      limiter.wait('key').then(() => times.tidegate.push(Date.now() - START)),
    ]),
  )
  await vi.advanceTimersByTimeAsync(2000)
  await Promise.all(calls)
  expect(times.tidegate).toStrictEqual([0, 200, 400, 600, 800])
  expect(times.original).toHaveLength(5)
  for (const atMs of times.original) expect(atMs).toBeLessThanOrEqual(1000)
})
