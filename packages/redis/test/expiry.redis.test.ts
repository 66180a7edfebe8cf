import { fixedWindow, ManualClock, type Policy } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_PREFIX } from '../src/keys.js'
import { EACH, LIMIT, policies } from './each-algorithm.js'
import { timedStore } from './timed-store.js'
import { nameOf, useRedis } from './use-redis.js'

const DAY_MS = 86_400_000

const on = useRedis()
beforeEach(() => on.redis.flushall())

describe('a key without an expiry gets one', () => {
  describe.each(EACH)('%s', (_, policy) => {
    it('by the next check that is allowed', async () => {
      await on.check(policy, 'k')
      await loseExpiry(policy)
      expect((await on.check(policy, 'k')).remaining).toBe(1)
      expect(await on.redis.pttl(nameOf(policy, 'k'))).toBeGreaterThan(0)
    })

    it('by a denied check', async () => {
      await on.check(policy, 'k', LIMIT)
      const before = await on.redis.pttl(nameOf(policy, 'k'))
      await loseExpiry(policy)
      expect((await on.check(policy, 'k')).allowed).toBe(false)
      const after = await on.redis.pttl(nameOf(policy, 'k'))
      expect(after).toBeGreaterThan(before - 10_000)
      // Both are rounded up to the millisecond.
      expect(after).toBeLessThanOrEqual(before + 1)
    })

    it('by a take that another limit denies', async () => {
      const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
      await on.check(full, 'k')
      await on.check(policy, 'k')
      await loseExpiry(policy)
      const requests = [policy, full].map((one) => ({ policy: one, key: 'k', cost: 1 }))
      expect((await on.store.take(requests)).allowed).toBe(false)
      expect(await on.redis.pttl(nameOf(policy, 'k'))).toBeGreaterThan(0)
    })

    it('by a take that another limit denies, when its state has expired', async () => {
      const clock = new ManualClock(366 * DAY_MS)
      const timed = timedStore(on.server.url, clock, DEFAULT_PREFIX)
      try {
        const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
        const short = policies({ window: '300ms' }).find(({ algorithm }) => algorithm === policy.algorithm)!
        await timed.check({ policy: full, key: 'k', cost: 1 })
        await timed.check({ policy: short, key: 'k', cost: 1 })
        await loseExpiry(short)
        clock.advance(DAY_MS)
        expect((await timed.peek({ policy: short, key: 'k', cost: 1 })).remaining).toBe(LIMIT)
        const requests = [short, full].map((one) => ({ policy: one, key: 'k', cost: 1 }))
        expect((await timed.take(requests)).allowed).toBe(false)
        expect(await on.redis.pttl(nameOf(short, 'k'))).toBeGreaterThan(0)
      } finally {
        await timed.close()
      }
    })
  })

  async function loseExpiry(policy: Policy): Promise<void> {
    expect(await on.redis.persist(nameOf(policy, 'k'))).toBe(1)
    expect(await on.redis.pttl(nameOf(policy, 'k'))).toBe(-1)
  }
})

it.each(EACH)(
  '%s: a key exists until the full limit is available again, to the microsecond',
  async (_, policy) => {
    for (let i = 0; i < 5; i++) {
      const { timeMs, resetAfterMs } = await on.check(policy, `k${i}`)
      const goneMs = Number(await on.redis.call('PEXPIRETIME', nameOf(policy, `k${i}`)))
      expect(goneMs).toBeGreaterThanOrEqual(timeMs + resetAfterMs)
    }
  },
)

describe('after a load over all algorithms', () => {
  it('every key that a scan finds has an expiry', async () => {
    const all = policies()
    await load(all)
    const names = await on.namesOfAll()
    // Each of the five has all the keys that were not reset or wholly refunded.
    expect(names.length).toBeGreaterThan(5 * 100)
    for (const name of names) expect([name, (await on.redis.pttl(name)) > 0]).toStrictEqual([name, true])
  })

  it('no keys are left after the longest window', async () => {
    await load(policies({ window: '300ms', rate: '10/1s' }))
    expect(await on.redis.dbsize()).toBeGreaterThan(0)
    // DBSIZE includes expired keys until Redis deletes them, which it does ten times a second.
    await until('the last key to be deleted', async () => (await on.redis.dbsize()) === 0, {
      timeoutMs: 10_000,
    })
  })

  /** Checks, takes, peeks, refunds and resets over 200 keys. */
  async function load(all: readonly Policy[]): Promise<void> {
    const work: Promise<unknown>[] = []
    for (let i = 0; i < 5000; i++) {
      const policy = all[i % all.length]!
      const key = `user:${(i * 7) % 200}`
      const cost = 1 + (i % LIMIT)
      if (i % 50 === 3) work.push(on.store.reset({ policy, key }))
      else if (i % 11 === 5) work.push(on.store.peek({ policy, key, cost }))
      else if (i % 7 === 2) work.push(on.store.take(all.map((one) => ({ policy: one, key, cost: 1 }))))
      else if (i % 5 === 1) {
        work.push(
          on
            .check(policy, key, cost)
            .then(({ allowed, timeMs }) =>
              allowed ? on.store.refund({ policy, key, timeMs, cost: 1 + (i % cost) }) : 0,
            ),
        )
      } else work.push(on.check(policy, key, cost))
      if (work.length === 256) await Promise.all(work.splice(0))
    }
    await Promise.all(work)
  }
})
