import { fixedWindow, type RatePolicy } from '../../policy/index.js'
import type { FullStore } from '../../store/full-store.js'
import { START_MS } from '../tables.js'
import { codeOf, EACH, type Suite, take } from './suite.js'

/** Every policy that units can be leased from. */
const LEASABLE = EACH.filter(({ algorithm }) => algorithm !== 'leaky-bucket')

export function testTakeUpTo({ describe, promise, promiseOfFull, deepEqual, operations }: Suite): void {
  const takenOf = async (store: FullStore, policy: RatePolicy, [min, max, divisor]: readonly number[]) =>
    (await store.takeUpTo({ policy, key: 'k', min: min!, max: max!, divisor: divisor! })).taken

  describe('take up to', () => {
    promiseOfFull('takes at most max, and the divisor of the rest, but at least min', async (store) => {
      for (const policy of LEASABLE) {
        const table: [min: number, max: number, divisor: number, taken: number][] = [
          [1, 4, 1, 4], // 6 of 10 remain
          [1, 10, 2, 3], // 3
          [1, 10, 2, 1], // 2
          [1, 10, 8, 1], // 1
          [2, 10, 1, 0],
          [1, 10, 1, 1], // 0
          [1, 10, 1, 0],
        ]
        for (const [i, [min, max, divisor, taken]] of table.entries()) {
          const answer = await takenOf(store, policy, [min, max, divisor])
          deepEqual([policy.name, i, answer], [policy.name, i, taken])
        }
      }
    })

    promiseOfFull(
      'has the decision of a check of the taken units, or of min if it is denied',
      async (store) => {
        for (const policy of LEASABLE) {
          await take(store, policy, 'k', 2)
          await take(store, policy, 'other', 2)
          const some = await store.takeUpTo({ policy, key: 'k', min: 1, max: 10, divisor: 2 })
          deepEqual(some.decision, await store.check({ policy, key: 'other', cost: 4 }))
          const none = await store.takeUpTo({ policy, key: 'k', min: 5, max: 10, divisor: 1 })
          deepEqual(none.decision, await store.check({ policy, key: 'other', cost: 5 }))
          deepEqual([none.taken, none.windowEndMs], [0, undefined])
        }
      },
    )

    promiseOfFull('has the end of the window that the units count in', async (store, clock) => {
      const ends: Record<string, number | undefined> = {
        'each-fixed': START_MS + 120_000,
        'each-counter': START_MS + 120_000,
      }
      clock.advance(70_000)
      for (const policy of LEASABLE) {
        const { windowEndMs } = await store.takeUpTo({ policy, key: 'k', min: 1, max: 2, divisor: 1 })
        deepEqual([policy.name, windowEndMs], [policy.name, ends[policy.name]])
      }
      const first = fixedWindow({ limit: 10, window: '1m', start: 'first-request', name: 'first' })
      await take(store, first, 'k')
      clock.advance(1000)
      const { windowEndMs } = await store.takeUpTo({ policy: first, key: 'k', min: 1, max: 2, divisor: 1 })
      deepEqual(windowEndMs, START_MS + 130_000)
      const day = fixedWindow({ limit: 10, window: 'day', name: 'day' })
      const ofDay = await store.takeUpTo({ policy: day, key: 'k', min: 1, max: 2, divisor: 1 })
      deepEqual(ofDay.windowEndMs, (Math.floor(START_MS / 86_400_000) + 1) * 86_400_000)
    })

    promiseOfFull('a fixed window keeps its end after a change of the policy', async (store) => {
      const of = (window: '1m' | '1h') => fixedWindow({ limit: 10, window, name: 'changed' })
      await take(store, of('1m'), 'k')
      const request = { policy: of('1h'), key: 'k', min: 1, max: 2, divisor: 1 }
      deepEqual((await store.takeUpTo(request)).windowEndMs, START_MS + 60_000)
    })

    promiseOfFull('its units can be refunded', async (store) => {
      for (const policy of LEASABLE) {
        const { taken, decision } = await store.takeUpTo({ policy, key: 'k', min: 1, max: 8, divisor: 1 })
        deepEqual(
          await store.refund({ policy, key: 'k', timeMs: decision.timeMs, cost: taken - 1 }),
          taken - 1,
        )
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 9)
      }
    })

    promiseOfFull('charges a denied request if the policy counts denied requests', async (store) => {
      const policy = fixedWindow({ limit: 10, window: '1m', countDenied: true, name: 'counted' })
      await take(store, policy, 'k', 8)
      deepEqual((await store.takeUpTo({ policy, key: 'k', min: 3, max: 10, divisor: 1 })).taken, 0)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 0)
    })

    if (operations.includes('block')) {
      promiseOfFull('takes nothing from a blocked key, and blocks like a check', async (store) => {
        for (const policy of LEASABLE) {
          await store.block({ policy, key: 'k', durationMs: 1000 })
          const request = { policy, key: 'k', min: 1, max: 5, divisor: 1 }
          const { taken, decision } = await store.takeUpTo(request)
          deepEqual([taken, decision.reason, decision.retryAfterMs], [0, 'blocked', 1000])
        }
        const policy = fixedWindow({ limit: 2, window: '1m', blockFor: '1h', name: 'blocking' })
        const request = { policy, key: 'k', min: 1, max: 2, divisor: 1 }
        deepEqual((await store.takeUpTo(request)).taken, 2)
        deepEqual((await store.takeUpTo(request)).decision.retryAfterMs, 3_600_000)
      })
    }

    promise('rejects invalid requests, and takes nothing', async (anyStore) => {
      const store = anyStore as FullStore
      const [fixed, leaky] = [EACH[0]!, EACH[4]!]
      const request = { policy: fixed, key: 'k', min: 1, max: 2, divisor: 1 }
      const table: [change: object, code: string][] = [
        [{ min: 0 }, 'COST_INVALID'],
        [{ min: 11, max: 11 }, 'COST_ABOVE_LIMIT'],
        [{ max: 11 }, 'TAKE_INVALID'],
        [{ min: 2, max: 1 }, 'TAKE_INVALID'],
        [{ max: 1.5 }, 'TAKE_INVALID'],
        [{ divisor: 0 }, 'TAKE_INVALID'],
        [{ divisor: Number.NaN }, 'TAKE_INVALID'],
        [{ key: '' }, 'KEY_INVALID'],
        [{ policy: {} }, 'POLICY_INVALID'],
        [{ policy: leaky }, 'OPERATION_UNSUPPORTED'],
      ]
      for (const [change, code] of table) {
        deepEqual([change, await codeOf(() => store.takeUpTo({ ...request, ...change }))], [change, code])
      }
      deepEqual((await store.peek({ policy: fixed, key: 'k', cost: 1 })).remaining, 10)
    })
  })
}
