import { fixedWindow } from '../../policy/index.js'
import { START_MS } from '../tables.js'
import { type Suite, take } from './suite.js'

const HOUR_MS = 3_600_000

export function testWindows({ describe, promise, deepEqual }: Suite): void {
  describe('fixed windows', () => {
    const first = fixedWindow({ limit: 3, window: '1m', start: 'first-request', name: 'first' })

    promise('a window can begin with the first request', async (store, clock) => {
      clock.advance(40_000)
      deepEqual((await store.peek({ policy: first, key: 'k', cost: 1 })).resetAfterMs, 0)
      const opened = await take(store, first, 'k')
      deepEqual([opened.remaining, opened.resetAfterMs], [2, 60_000])
      clock.advance(59_999.999)
      deepEqual((await take(store, first, 'k', 2)).remaining, 0)
      const denied = await take(store, first, 'k')
      deepEqual([denied.allowed, denied.retryAfterMs, denied.resetAfterMs], [false, 0.001, 0.001])
      clock.advance(30_000)
      const next = await take(store, first, 'k')
      deepEqual([next.remaining, next.resetAfterMs], [2, 60_000])
    })

    promise('each key has its own first request', async (store, clock) => {
      await take(store, first, 'a', 3)
      clock.advance(50_000)
      deepEqual((await take(store, first, 'b', 3)).resetAfterMs, 60_000)
      clock.advance(10_000)
      deepEqual((await take(store, first, 'a')).allowed, true)
      deepEqual((await take(store, first, 'b')).retryAfterMs, 50_000)
    })

    promise('a full refund keeps a window that began with the first request', async (store, clock) => {
      const { timeMs } = await take(store, first, 'k', 2)
      clock.advance(20_000)
      deepEqual(await store.refund({ policy: first, key: 'k', timeMs, cost: 2 }), 2)
      const untouched = await store.peek({ policy: first, key: 'k', cost: 1 })
      deepEqual([untouched.remaining, untouched.resetAfterMs], [3, 0])
      deepEqual((await take(store, first, 'k')).resetAfterMs, 40_000)
    })

    // The clock starts on Friday, 2027-01-15, at 08:00 UTC: 17:00 in Seoul and 03:00 in New York.
    for (const [window, timeZone, hours] of [
      ['day', 'UTC', 16],
      ['week', 'UTC', 64],
      ['month', 'UTC', 16 + 16 * 24],
      ['year', 'UTC', 16 + 350 * 24],
      ['day', 'Asia/Seoul', 7],
      ['month', 'America/New_York', 21 + 16 * 24],
    ] as const) {
      promise(`a calendar ${window} ends with the ${window} in ${timeZone}`, async (store, clock) => {
        const policy = fixedWindow({ limit: 3, window, timeZone, name: 'calendar' })
        const opened = await take(store, policy, 'k', 3)
        deepEqual([opened.remaining, opened.resetAfterMs], [0, hours * HOUR_MS])
        clock.advance(hours * HOUR_MS - 0.001)
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 0.001)
        clock.advance(0.001)
        deepEqual((await take(store, policy, 'k')).remaining, 2)
      })
    }

    promise('a calendar day has 23 or 25 hours when clocks change', async (store, clock) => {
      const policy = fixedWindow({ limit: 3, window: 'day', timeZone: 'America/New_York', name: 'day' })
      // Clocks go forward on 2027-03-14 and back on 2027-11-07.
      for (const [midnight, hours] of [
        ['2027-03-14T05:00:00Z', 23],
        ['2027-11-07T04:00:00Z', 25],
      ] as const) {
        clock.set(Date.parse(midnight))
        deepEqual((await take(store, policy, 'k', 3)).resetAfterMs, hours * HOUR_MS)
      }
    })

    promise('a window keeps its end after any change of the policy', async (store, clock) => {
      const named = { limit: 3, name: 'changing' }
      const hour = fixedWindow({ ...named, window: '1h' })
      const others = [
        fixedWindow({ ...named, window: '1m' }),
        fixedWindow({ ...named, window: '1m', start: 'first-request' }),
        fixedWindow({ ...named, window: 'day' }),
        fixedWindow({ ...named, window: 'day', timeZone: 'Asia/Seoul' }),
      ]
      for (const [i, policy] of others.entries()) {
        clock.set(START_MS)
        const key = `k${i}`
        await take(store, hour, key)
        clock.advance(600_000)
        const second = await take(store, policy, key)
        deepEqual([second.remaining, second.resetAfterMs], [1, 3_000_000])
        clock.advance(3_000_000)
        deepEqual((await take(store, policy, key)).remaining, 2)
      }
    })

    promise('a state from another clock moves into the window of its policy', async (store, clock) => {
      for (const policy of [
        first,
        fixedWindow({ limit: 3, window: 'day', name: 'day' }),
        fixedWindow({ limit: 3, window: '1m', name: 'minute' }),
      ]) {
        clock.set(START_MS + 90_000)
        await take(store, policy, 'k', 3)
        clock.set(START_MS - 30 * 24 * HOUR_MS + 15_000)
        const denied = await take(store, policy, 'k')
        const wait = policy.windowKind === 'calendar' ? 16 * HOUR_MS - 15_000 : 60_000
        deepEqual(
          [denied.allowed, denied.retryAfterMs],
          [false, policy.windowKind === 'epoch' ? 45_000 : wait],
        )
      }
    })

    promise('limits and costs of fifteen digits are exact', async (store) => {
      const limit = 10 ** 15 - 1
      const policy = fixedWindow({ limit, window: 'month', name: 'money' })
      deepEqual((await take(store, policy, 'k', 123_456_789_012_345)).remaining, limit - 123_456_789_012_345)
      const { timeMs } = await take(store, policy, 'k', limit - 123_456_789_012_345)
      deepEqual((await take(store, policy, 'k')).allowed, false)
      deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 999_999_999_999 }), 999_999_999_999)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 999_999_999_999)
    })
  })
}
