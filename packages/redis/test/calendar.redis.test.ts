import { fixedWindow, ManualClock } from '@tidegate/core'
import { ReferenceStore, randomFrom } from '@tidegate/core/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RedisStore } from '../src/redis-store.js'
import { timedStore } from './timed-store.js'
import { useRedis } from './use-redis.js'

// Calendar windows: the process sends boundaries, and Redis chooses by its own time.

const ZONES = [
  'UTC',
  'Asia/Seoul',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Pacific/Apia',
]
const UNITS = ['day', 'week', 'month', 'year'] as const
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const used = useRedis()
const stores: RedisStore[] = []
// Loads the script, so that a test that counts calls does not count this one.
beforeEach(() => used.check(fixedWindow({ limit: 1, window: '1m', name: 'load' }), 'key'))
afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(stores.splice(0).map((store) => store.close()))
})

function storeAt(clock: ManualClock, prefix: string): RedisStore {
  const store = timedStore(used.server.url, clock, prefix)
  stores.push(store)
  return store
}

async function scriptCalls(): Promise<number> {
  const stats = await used.redis.info('commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

describe('calendar windows on Redis', () => {
  it.each(UNITS)('%s: the same decisions as in memory, from 1996 to 2036', async (unit) => {
    const random = randomFrom(UNITS.indexOf(unit) + 1)
    const clock = new ManualClock(Date.UTC(1996, 0))
    const store = storeAt(clock, `same-${unit}`)
    const reference = new ReferenceStore(clock)
    const policies = ZONES.map((timeZone, i) =>
      fixedWindow({ limit: 3, window: unit, timeZone, name: `zone-${i}` }),
    )
    while (clock.nowMs() < Date.UTC(2036, 0)) {
      // To the boundary of a window, a little before or after it, or anywhere.
      const policy = random.oneOf(policies)
      const boundary = random.oneOf(
        policy.calendar!.boundariesAround(clock.nowUs() + 20 * DAY_MS * 1000).slice(1),
      )
      clock.set(
        random.oneOf([boundary / 1000, boundary / 1000 - 1, clock.nowMs() + random.between(0, 60 * DAY_MS)]),
      )
      for (const each of policies) {
        const request = { policy: each, key: 'key', cost: random.between(1, 2) }
        const operation = random.oneOf(['check', 'check', 'peek'] as const)
        expect(await store[operation](request)).toStrictEqual(reference[operation](request))
      }
    }
  })

  it.each([-MINUTE_MS, MINUTE_MS])(
    'a Redis clock that differs by %i ms decides in one call',
    async (awayMs) => {
      await used.redis.flushall()
      for (const timeZone of ZONES) {
        for (const window of UNITS) {
          const policy = fixedWindow({ limit: 5, window, timeZone, name: window })
          const [, , boundary] = policy.calendar!.boundariesAround(Date.UTC(2026, 2, 20) * 1000)
          // This process is half a minute before or after the boundary, Redis on the other side of it.
          const redisMs = boundary! / 1000 + awayMs / 2
          vi.useFakeTimers({ now: redisMs - awayMs, toFake: ['Date'] })
          const clock = new ManualClock(redisMs)
          const store = storeAt(clock, `away-${timeZone.replaceAll('/', '-')}`)
          const before = await scriptCalls()
          const { resetAfterMs, remaining } = await store.check({ policy, key: 'key', cost: 2 })
          expect((await scriptCalls()) - before).toBe(1)
          expect(remaining).toBe(3)
          const { end } = policy.calendar!.windowAt(redisMs * 1000)
          expect(redisMs + resetAfterMs).toBe(end / 1000)
        }
      }
    },
  )

  it('a Redis clock that differs by years costs one additional call', async () => {
    const clock = new ManualClock(Date.parse('2009-06-15T12:00:00Z'))
    const store = storeAt(clock, 'years')
    const policy = fixedWindow({ limit: 5, window: 'month', timeZone: 'Europe/Berlin', name: 'years' })
    const before = await scriptCalls()
    const decision = await store.check({ policy, key: 'key', cost: 1 })
    expect(decision.remaining).toBe(4)
    expect(clock.nowMs() + decision.resetAfterMs).toBe(Date.parse('2009-06-30T22:00:00Z'))
    expect((await scriptCalls()) - before).toBe(2)
    expect((await store.check({ policy, key: 'key', cost: 1 })).remaining).toBe(3)
    expect((await scriptCalls()) - before).toBe(3)
  })

  it('a window keeps its time zone until it ends', async () => {
    const clock = new ManualClock(Date.parse('2026-03-10T12:00:00Z'))
    const store = storeAt(clock, 'changed')
    const before = fixedWindow({ limit: 5, window: 'day', timeZone: 'Asia/Seoul', name: 'changed' })
    const after = fixedWindow({ limit: 5, window: 'day', timeZone: 'America/New_York', name: 'changed' })
    await store.check({ policy: before, key: 'key', cost: 5 })
    const denied = await store.check({ policy: after, key: 'key', cost: 1 })
    expect(clock.nowMs() + denied.retryAfterMs).toBe(Date.parse('2026-03-10T15:00:00Z'))
    clock.set(Date.parse('2026-03-10T15:00:00Z'))
    const allowed = await store.check({ policy: after, key: 'key', cost: 1 })
    expect(clock.nowMs() + allowed.resetAfterMs).toBe(Date.parse('2026-03-11T04:00:00Z'))
  })

  it('a take that has to be sent again is charged once', async () => {
    const clock = new ManualClock(Date.parse('2031-06-15T12:00:00Z'))
    const store = storeAt(clock, 'take')
    const policies = [
      fixedWindow({ limit: 3, window: '1h', name: 'take-hour' }),
      fixedWindow({ limit: 3, window: 'day', timeZone: 'Asia/Seoul', name: 'take-day' }),
      fixedWindow({ limit: 3, window: 'year', name: 'take-year' }),
    ]
    const requests = policies.map((policy) => ({ policy, key: 'key', cost: 2 }))
    for (const allowed of [true, false]) expect((await store.take(requests)).allowed).toBe(allowed)
    clock.advance(800 * DAY_MS)
    const { allowed, decisions } = await store.take(requests)
    expect([allowed, ...decisions.map((decision) => decision?.remaining)]).toStrictEqual([true, 1, 1, 1])
  })
})
