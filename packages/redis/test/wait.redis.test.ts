import {
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policy,
  tokenBucket,
} from '@tidegate/core'
import { pause, until } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { useRedis } from './use-redis.js'

// `limiter.wait` on a real server and in real time.

const used = useRedis()
const stores: RedisStore[] = []
beforeEach(() => used.redis.flushall())
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()))
})

/** A limiter on a separate store with its own denial cache, as in another process. */
function limiterOf(policy: Policy) {
  const store = new RedisStore(used.server.url)
  stores.push(store)
  return createLimiter({ policy, store, failure: { deadlineMs: 2000, connectTimeoutMs: 5000 } })
}

async function scriptCalls(): Promise<number> {
  const stats = await used.redis.info('commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

/** The most units that decisions took within any `windowMs`, by the time of Redis. */
function mostWithin(decisions: Decision[], windowMs: number): number {
  const times = decisions.map(({ timeMs }) => timeMs).sort((a, b) => a - b)
  return Math.max(
    ...times.map((from) => times.filter((time) => time >= from && time < from + windowMs).length),
  )
}

describe('wait', () => {
  it('resolves in order, when Redis has the units', async () => {
    const limiter = limiterOf(tokenBucket({ capacity: 2, refillRate: 20, name: 'bucket' }))
    const order: string[] = []
    const decisions = await Promise.all(
      [...'abcdefgh'].map(async (name) => {
        const decision = await limiter.wait('key')
        order.push(name)
        return decision
      }),
    )
    expect(order.join('')).toBe('abcdefgh')
    const times = decisions.map(({ timeMs }) => timeMs)
    for (let i = 2; i < times.length; i++) expect(times[i]! - times[0]!).toBeGreaterThanOrEqual((i - 1) * 50)
    expect(decisions.every(({ allowed, degraded }) => allowed && degraded === undefined)).toBe(true)
  })

  it('four limiters share one limit, and every call is served', async () => {
    const policy = tokenBucket({ capacity: 5, refillRate: 50, name: 'shared' })
    const limiters = [1, 2, 3, 4].map(() => limiterOf(policy))
    const calls = limiters.flatMap((limiter) => Array.from({ length: 15 }, () => limiter.wait('key')))
    const decisions = await Promise.all(calls)
    expect(decisions).toHaveLength(60)
    for (const windowMs of [20, 100, 500]) {
      expect(mostWithin(decisions, windowMs)).toBeLessThanOrEqual(5 + Math.ceil(windowMs / 20))
    }
  })

  it('serves a cost of 5 among a stream of calls with a cost of 1', async () => {
    const limiter = limiterOf(tokenBucket({ capacity: 5, refillRate: 20, name: 'mixed' }))
    await limiter.check('key', 5)
    const order: number[] = []
    const call = (cost: number) => limiter.wait('key', { cost }).then(() => order.push(cost))
    const calls = [call(1), call(1), call(5)]
    for (let i = 0; i < 8; i++) {
      calls.push(call(1))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await Promise.all(calls)
    expect(order).toStrictEqual([1, 1, 5, 1, 1, 1, 1, 1, 1, 1, 1])
  })

  it('only the first of 10,000 calls is checked while they wait, and there is one timer', async () => {
    const limiter = limiterOf(
      fixedWindow({ limit: 10_000, window: '1h', start: 'first-request', name: 'hour' }),
    )
    await limiter.check('key', 10_000)
    const before = await scriptCalls()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const controller = new AbortController()
    const calls = Array.from({ length: 10_000 }, () =>
      limiter.wait('key', { timeoutMs: 86_400_000, signal: controller.signal }).catch(({ code }) => code),
    )
    await until('the first check', async () => (await scriptCalls()) > before)
    await pause(300)
    // Shorter timers are those of the store.
    const ownTimers = timers.mock.calls.filter(([, ms]) => (ms ?? 0) > 60_000)
    timers.mockRestore()
    expect(ownTimers.length).toBeLessThanOrEqual(3)
    expect((await scriptCalls()) - before).toBe(1)
    controller.abort()
    expect(new Set(await Promise.all(calls))).toStrictEqual(new Set(['WAIT_ABORTED']))
    expect((await scriptCalls()) - before).toBe(1)
  })

  it('makes one check for each served call, and one for each wait', async () => {
    const limiter = limiterOf(tokenBucket({ capacity: 1, refillRate: 20, name: 'counted' }))
    await limiter.check('key')
    const before = await scriptCalls()
    await Promise.all(Array.from({ length: 10 }, () => limiter.wait('key')))
    // A denial that is still in the denial cache costs no call, and Redis may deny a check that is a moment early.
    expect((await scriptCalls()) - before).toBeLessThanOrEqual(25)
  })

  it('an abort while Redis decides gives the units back', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, window: '365d', name: 'aborted' }))
    await limiter.ready()
    const controller = new AbortController()
    const call = limiter.wait('key', { cost: 7, signal: controller.signal })
    controller.abort()
    await expect(call).rejects.toMatchObject({ code: 'WAIT_ABORTED' })
    await until('the refund', async () => (await limiter.peek('key')).remaining === 10)
  })

  it('an abort during the delay of a leaky bucket gives the units back', async () => {
    const limiter = limiterOf(leakyBucket({ capacity: 10, leakRate: '1/1h', name: 'leaky' }))
    await limiter.check('key', 5)
    const controller = new AbortController()
    const call = limiter.wait('key', { cost: 5, signal: controller.signal, timeoutMs: 86_400_000 })
    await until('the units', async () => (await limiter.peek('key')).remaining === 0)
    controller.abort()
    await expect(call).rejects.toMatchObject({ code: 'WAIT_ABORTED' })
    await until('the refund', async () => (await limiter.peek('key')).remaining === 5)
  })

  it('a wait that is longer than the timeout is rejected at once', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 1, window: '1h', start: 'first-request', name: 'long' }))
    await limiter.wait('key')
    const started = performance.now()
    await expect(limiter.wait('key')).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('without Redis', () => {
  it("open resolves, closed waits until Redis is back or the call's timeout", async () => {
    const open = limiterOf(tokenBucket({ capacity: 1, refillRate: 1, name: 'open' }))
    const closed = limiterOf(
      tokenBucket({ capacity: 1, refillRate: 1, name: 'closed', onStoreFailure: 'closed' }),
    )
    await Promise.all([open.ready(), closed.ready()])
    await used.server.kill()
    try {
      expect(await open.wait('key')).toMatchObject({ allowed: true, degraded: 'open' })
      await expect(closed.wait('key', { timeoutMs: 1500 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })
    } finally {
      await used.server.restart()
    }
    expect(await closed.wait('key')).toMatchObject({ allowed: true })
  })
})
