import type { ManualClock } from '../../clock.js'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../policy/index.js'
import type { FullStore, ReserveOptions, ReserveResult, SettleResult } from '../../store/full-store.js'
import { codeOf, type Suite } from './suite.js'

/** One policy of each algorithm that units can be reserved under: 10 units a minute. */
const EACH: readonly RatePolicy[] = [
  fixedWindow({ limit: 10, window: '1m', name: 'reserved-fixed' }),
  slidingWindowLog({ limit: 10, window: '1m', name: 'reserved-log' }),
  slidingWindowCounter({ limit: 10, window: '1m', name: 'reserved-counter' }),
  tokenBucket({ capacity: 10, refillRate: '10/1m', name: 'reserved-token' }),
]

/** The contract of reserve, settle and cancel. */
export function testReservations({ describe, promiseOfFull, deepEqual }: Suite): void {
  /** Defines a test that runs once for each algorithm, with separate keys. */
  function forEach(
    title: string,
    test: (one: ReturnType<typeof limitOf>, clock: ManualClock, store: FullStore) => Promise<void>,
  ): void {
    promiseOfFull(title, async (store, clock) => {
      const startMs = clock.nowMs()
      for (const policy of EACH) {
        clock.set(startMs)
        await test(limitOf(store, policy), clock, store)
      }
    })
  }

  describe('reservations', () => {
    forEach(
      'a settlement below the reserved units gives the difference back',
      async ({ reserve, settle, remaining }) => {
        const { allowed, id, decisions } = await reserve(6, { id: 'a' })
        deepEqual([allowed, id, decisions[0]?.id, decisions[0]?.reserved], [true, 'a', 'a', 6])
        deepEqual(await remaining(), 4)
        deepEqual(await settle('a', 2), { settled: true, refunded: 4, charged: 0, overBy: 0 })
        deepEqual(await remaining(), 8)
      },
    )

    forEach('a settlement at the reserved units changes nothing', async ({ reserve, settle, remaining }) => {
      await reserve(6, { id: 'a' })
      deepEqual(await settle('a', 6), { settled: true, refunded: 0, charged: 0, overBy: 0 })
      deepEqual(await remaining(), 4)
    })

    forEach(
      'a settlement above the reserved units charges the difference',
      async ({ reserve, settle, remaining }) => {
        await reserve(6, { id: 'a' })
        deepEqual(await settle('a', 9), { settled: true, refunded: 0, charged: 3, overBy: 0 })
        deepEqual(await remaining(), 1)
        await reserve(1, { id: 'b' })
        deepEqual(await settle('b', 5), { settled: true, refunded: 0, charged: 4, overBy: 4 })
        deepEqual(await remaining(), 0)
      },
    )

    forEach('a cancellation gives all units back', async ({ reserve, settle, remaining }) => {
      await reserve(6, { id: 'a' })
      deepEqual(await settle('a', 0), { settled: true, refunded: 6, charged: 0, overBy: 0 })
      deepEqual(await remaining(), 10)
    })

    forEach('only the first settle or cancel has an effect', async ({ reserve, settle, remaining }) => {
      await reserve(6, { id: 'a' })
      await settle('a', 2)
      deepEqual(await settle('a', 2), ENDED)
      deepEqual(await settle('a', 0), ENDED)
      deepEqual(await settle('a', 9), ENDED)
      deepEqual(await remaining(), 8)
    })

    forEach(
      'only one of 1,000 concurrent settlements gives units back',
      async ({ reserve, settle, remaining }) => {
        await reserve(6, { id: 'a' })
        const results = await Promise.all(Array.from({ length: 1000 }, () => settle('a', 2)))
        deepEqual(results.filter(({ settled }) => settled).length, 1)
        deepEqual(await remaining(), 8)
      },
    )

    forEach(
      'a repeated reserve returns the first decision, and is charged once',
      async (limit, clock, store) => {
        const { reserve, policy, key, remaining } = limit
        const first = await reserve(6, { id: 'a' })
        clock.advance(0.5)
        await store.check({ policy, key, cost: 1 })
        const again = await reserve(6, { id: 'a' })
        deepEqual([first.repeated, again.repeated], [undefined, true])
        deepEqual(again.decisions, [{ ...first.decisions[0], repeated: true }])
        deepEqual(await remaining(), 3)
      },
    )

    forEach(
      'an id that is open with other units, or has ended, is rejected',
      async ({ reserve, settle, remaining }) => {
        await reserve(6, { id: 'a' })
        deepEqual(await codeOf(() => reserve(5, { id: 'a' })), 'RESERVATION_ID_USED')
        await settle('a', 0)
        deepEqual(await codeOf(() => reserve(6, { id: 'a' })), 'RESERVATION_ID_USED')
        deepEqual(await remaining(), 10)
      },
    )

    forEach(
      'a reserve that arrives after its cancel takes nothing',
      async ({ reserve, settle, remaining }, clock) => {
        deepEqual(await settle('a', 0), UNKNOWN)
        deepEqual(await settle('a', 0), ENDED)
        deepEqual(await codeOf(() => reserve(6, { id: 'a' })), 'RESERVATION_ID_USED')
        deepEqual(await remaining(), 10)
        clock.advance(59_999)
        deepEqual(await codeOf(() => reserve(6, { id: 'a' })), 'RESERVATION_ID_USED')
        clock.advance(1)
        deepEqual((await reserve(6, { id: 'a' })).allowed, true)
      },
    )

    forEach('a denied reserve leaves its id free', async ({ reserve, settle }) => {
      await reserve(10, { id: 'a' })
      const denied = await reserve(1, { id: 'b' })
      deepEqual([denied.allowed, denied.id, denied.decisions[0]?.reserved], [false, 'b', 0])
      await settle('a', 0)
      deepEqual((await reserve(1, { id: 'b' })).allowed, true)
    })

    forEach('an estimate above the limit reserves the limit', async ({ reserve, settle, remaining }) => {
      const { allowed, decisions } = await reserve(25, { id: 'a' })
      deepEqual([allowed, decisions[0]?.cost, decisions[0]?.reserved], [true, 25, 10])
      deepEqual((await reserve(25, { id: 'a' })).repeated, true)
      deepEqual(await settle('a', 12), { settled: true, refunded: 0, charged: 2, overBy: 2 })
      deepEqual(await remaining(), 0)
    })

    forEach('after its ttl a reservation has lapsed, and its units stay charged', async (limit, clock) => {
      const { reserve, settle, remaining } = limit
      await reserve(3, { id: 'a', ttl: '1s' })
      await reserve(3, { id: 'b', ttl: '1s' })
      clock.advance(999.999)
      deepEqual((await settle('a', 0)).settled, true)
      clock.advance(0.001)
      deepEqual(await settle('b', 0), UNKNOWN)
      deepEqual(await remaining(), 7)
    })

    forEach('reset drops the reservations', async ({ reserve, settle, remaining, policy, key }, _, store) => {
      await reserve(6, { id: 'a' })
      await store.reset({ policy, key })
      deepEqual(await remaining(), 10)
      await store.check({ policy, key, cost: 5 })
      deepEqual(await settle('a', 0), UNKNOWN)
      deepEqual(await remaining(), 5)
      deepEqual((await reserve(5, { id: 'b' })).allowed, true)
    })

    forEach(
      'at most maxOpen reservations of a key are open',
      async ({ reserve, settle, remaining }, clock) => {
        await reserve(1, { id: 'a', ttl: '30s', maxOpen: 2 })
        clock.advance(1000)
        await reserve(1, { id: 'b', ttl: '5s', maxOpen: 2 })
        const denied = await reserve(1, { id: 'c', maxOpen: 2 })
        const { allowed, reason, remaining: left, retryAfterMs } = denied.decisions[0]!
        deepEqual([denied.allowed, allowed, reason, left, retryAfterMs], [false, false, 'max-open', 8, 5000])
        deepEqual((await reserve(1, { id: 'b', maxOpen: 2 })).repeated, true)
        deepEqual(await remaining(), 8)
        await settle('a', 1)
        deepEqual((await reserve(1, { id: 'c', maxOpen: 2 })).allowed, true)
        clock.advance(5000)
        deepEqual((await reserve(1, { id: 'd', maxOpen: 2 })).allowed, true)
      },
    )

    forEach('a reserve without an id gets one', async ({ reserve, settle }) => {
      const [{ id: one }, { id: other }] = [await reserve(1), await reserve(1)]
      deepEqual(one === other, false)
      deepEqual((await settle(one, 0)).settled, true)
      deepEqual((await settle(other, 0)).settled, true)
    })

    forEach(
      'units are given back after a change of the limit',
      async ({ reserve, policy, key }, _, store) => {
        await reserve(6, { id: 'a' })
        const wider = withLimit(policy, 20)
        const { settle, remaining } = limitOf(store, wider, key)
        deepEqual(await settle('a', 2), { settled: true, refunded: 4, charged: 0, overBy: 0 })
        deepEqual(await remaining(), policy.algorithm === 'token-bucket' ? 8 : 18)
      },
    )

    promiseOfFull('under another algorithm nothing is given back', async (store, clock) => {
      for (const [i, policy] of EACH.entries()) {
        const other = EACH[(i + 1) % EACH.length]!
        const before = limitOf(store, renamePolicy(policy, `moved-${i}`))
        const after = limitOf(store, renamePolicy(other, `moved-${i}`), before.key)
        await before.reserve(6, { id: 'a' })
        await store.check({ policy: after.policy, key: after.key, cost: 8 })
        deepEqual(await after.settle('a', 0), { settled: true, refunded: 0, charged: 0, overBy: 0 })
        deepEqual(await after.remaining(), 2)
        // Not even if the first algorithm is used again in between.
        await after.reserve(1, { id: 'b' })
        await before.check(8)
        clock.advance(0.001)
        await after.check(1)
        deepEqual((await after.settle('b', 0)).settled, true)
        deepEqual(await after.remaining(), 9)
      }
    })

    promiseOfFull('a settlement under another algorithm keeps the state', async (store) => {
      for (const [i, policy] of EACH.entries()) {
        for (const [j, other] of EACH.entries()) {
          if (i === j) continue
          const before = limitOf(store, renamePolicy(policy, `kept-${i}-${j}`))
          const after = limitOf(store, renamePolicy(other, `kept-${i}-${j}`), before.key)
          await before.reserve(6, { id: 'a' })
          deepEqual(await after.settle('a', 2), { settled: true, refunded: 0, charged: 0, overBy: 0 })
          deepEqual(await after.remaining(), 10)
          deepEqual(await before.remaining(), 4)
        }
      }
    })

    promiseOfFull('in the next window a fixed window gives nothing back', async (store, clock) => {
      const { reserve, settle, remaining, check } = limitOf(store, EACH[0]!)
      await reserve(6, { id: 'a' })
      await reserve(2, { id: 'b' })
      clock.advance(60_000)
      await check(5)
      deepEqual(await settle('a', 1), { settled: true, refunded: 0, charged: 0, overBy: 0 })
      deepEqual(await remaining(), 5)
      deepEqual(await settle('b', 4), { settled: true, refunded: 0, charged: 2, overBy: 0 })
      deepEqual(await remaining(), 3)
    })

    promiseOfFull('a counter gives back to the previous window while it counts', async (store, clock) => {
      const { reserve, settle, remaining } = limitOf(store, EACH[2]!)
      await reserve(6, { id: 'a' })
      await reserve(4, { id: 'b' })
      clock.advance(90_000)
      deepEqual(await remaining(), 5)
      deepEqual((await settle('a', 0)).settled, true)
      deepEqual(await remaining(), 8)
      clock.advance(30_000)
      deepEqual(await settle('b', 0), { settled: true, refunded: 0, charged: 0, overBy: 0 })
    })

    promiseOfFull('a log gives back units that still count', async (store, clock) => {
      const { reserve, settle, remaining } = limitOf(store, EACH[1]!)
      await reserve(6, { id: 'a' })
      clock.advance(1000)
      await reserve(2, { id: 'b' })
      clock.advance(58_999)
      deepEqual(await settle('a', 5), { settled: true, refunded: 1, charged: 0, overBy: 0 })
      clock.advance(1)
      deepEqual(await remaining(), 8)
      deepEqual(await settle('b', 0), { settled: true, refunded: 2, charged: 0, overBy: 0 })
    })

    promiseOfFull(
      'a token bucket gets back only tokens that would not have overflowed',
      async (store, clock) => {
        const policy = tokenBucket({ capacity: 10, refillRate: '1/1s', name: 'replayed' })
        const { reserve, settle, remaining, check } = limitOf(store, policy)
        await reserve(5, { id: 'a' })
        clock.advance(3000)
        // At 8 of 10. With 5 more it would have been full for three seconds.
        await reserve(4, { id: 'b' })
        deepEqual(await settle('a', 0), { settled: true, refunded: 2, charged: 0, overBy: 0 })
        deepEqual(await remaining(), 6)
        clock.advance(2000)
        await check(7)
        // The bucket was at 8 since then, so 2 of the 4 would have overflowed.
        deepEqual(await settle('b', 0), { settled: true, refunded: 2, charged: 0, overBy: 0 })
        deepEqual(await remaining(), 3)
        await reserve(3, { id: 'c' })
        clock.advance(10_000)
        deepEqual(await settle('c', 0), { settled: true, refunded: 0, charged: 0, overBy: 0 })
        deepEqual(await remaining(), 10)
      },
    )

    promiseOfFull('several limits are reserved together or not at all', async (store) => {
      const requests = fixedWindow({ limit: 2, window: '1m', name: 'reserved-requests' })
      const tokens = tokenBucket({ capacity: 1000, refillRate: '1000/1m', name: 'reserved-tokens' })
      const both = (cost: number) => [
        { policy: requests, key: 'k', cost: 1 },
        { policy: tokens, key: 'k', cost },
      ]
      const left = async () => [
        await limitOf(store, requests, 'k').remaining(),
        await limitOf(store, tokens, 'k').remaining(),
      ]
      const allowed = await store.reserve(both(600), { id: 'a' })
      deepEqual([allowed.allowed, allowed.decisions.map((one) => one?.reserved)], [true, [1, 600]])
      deepEqual(await left(), [1, 400])
      const denied = await store.reserve(both(600), { id: 'b' })
      deepEqual(
        [denied.allowed, denied.decisions.map((one) => [one?.allowed, one?.reserved])],
        [
          false,
          [
            [true, 0],
            [false, 0],
          ],
        ],
      )
      deepEqual(await left(), [1, 400])
      deepEqual((await store.reserve(both(600), { id: 'a' })).repeated, true)
      deepEqual(await store.settle(both(0), 'a', [1, 100]), [
        { settled: true, refunded: 0, charged: 0, overBy: 0 },
        { settled: true, refunded: 500, charged: 0, overBy: 0 },
      ])
      deepEqual(await store.settle(both(0), 'a', [1, 100]), [ENDED, ENDED])
      deepEqual(await left(), [1, 900])
    })

    promiseOfFull(
      'a counter with a changed window gives back no units of other requests',
      async (store, clock) => {
        const startMs = Math.ceil(clock.nowMs() / 120_000) * 120_000
        const [before, after] = (['1m', '2m'] as const).map((window) =>
          limitOf(store, slidingWindowCounter({ limit: 10, window, name: 'reserved-counter' })),
        )
        clock.set(startMs)
        await before!.reserve(10, { id: 'a' })
        // Half of the minute before still counts.
        clock.set(startMs + 90_000)
        await after!.check(5)
        deepEqual(await after!.settle('a', 0), { settled: true, refunded: 0, charged: 0, overBy: 0 })
        deepEqual(await after!.remaining(), 0)
      },
    )

    promiseOfFull('a result has the methods settle and cancel', async (store) => {
      const { policy, key, remaining } = limitOf(store, EACH[3]!)
      const one = (await store.reserve([{ policy, key, cost: 6 }])) as Handle
      deepEqual(await one.settle([2]), [{ settled: true, refunded: 4, charged: 0, overBy: 0 }])
      deepEqual(await one.cancel(), [ENDED])
      const other = (await store.reserve([{ policy, key, cost: 6 }])) as Handle
      deepEqual(await other.cancel(), [{ settled: true, refunded: 6, charged: 0, overBy: 0 }])
      deepEqual(await remaining(), 8)
      const denied = (await store.reserve([{ policy, key, cost: 9 }], { id: 'later' })) as Handle
      deepEqual(await denied.cancel(), [UNKNOWN])
      deepEqual((await store.reserve([{ policy, key, cost: 8 }], { id: 'later' })).allowed, true)
    })

    promiseOfFull('an invalid reservation is rejected', async (store) => {
      const policy = EACH[0]!
      const reserve = (request: object, options?: object) => () =>
        store.reserve([{ policy, key: 'k', cost: 1, ...request }], options)
      const settle =
        (actual: unknown, id: unknown = 'a') =>
        () =>
          store.settle([{ policy, key: 'k' }], id as string, actual as number[])
      for (const [call, code] of [
        [reserve({ policy: leakyBucket({ capacity: 10, leakRate: 1 }) }), 'RESERVATION_INVALID'],
        [reserve({ policy: concurrency({ limit: 10 }) }), 'RESERVATION_INVALID'],
        [reserve({ policy: { ...policy } }), 'POLICY_INVALID'],
        [reserve({ key: '' }), 'KEY_INVALID'],
        [reserve({ cost: 0 }), 'RESERVATION_INVALID'],
        [reserve({ cost: 1.5 }), 'RESERVATION_INVALID'],
        [reserve({}, { id: '' }), 'RESERVATION_INVALID'],
        [reserve({}, { id: 'a b' }), 'RESERVATION_INVALID'],
        [reserve({}, { id: 'ü' }), 'RESERVATION_INVALID'],
        [reserve({}, { id: 'x'.repeat(129) }), 'RESERVATION_INVALID'],
        [reserve({}, { ttl: '999ms' }), 'RESERVATION_INVALID'],
        [reserve({}, { ttl: '25h' }), 'RESERVATION_INVALID'],
        [reserve({}, { maxOpen: 1001 }), 'RESERVATION_INVALID'],
        [reserve({}, { time: 1 }), 'RESERVATION_INVALID'],
        [() => store.reserve([]), 'RESERVATION_INVALID'],
        [
          () =>
            store.reserve([
              { policy, key: 'k', cost: 1 },
              { policy, key: 'k', cost: 1 },
            ]),
          'RESERVATION_INVALID',
        ],
        [settle([-1]), 'RESERVATION_INVALID'],
        [settle([0.5]), 'RESERVATION_INVALID'],
        [settle([]), 'RESERVATION_INVALID'],
        [settle([1], ''), 'RESERVATION_INVALID'],
      ] as const) {
        deepEqual(await codeOf(call as () => unknown), code)
      }
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
    })
  })
}

type Handle = ReserveResult & { settle(actual: readonly number[]): unknown; cancel(): unknown }

const ENDED = { settled: false, reason: 'ended' } as const
const UNKNOWN = { settled: false, reason: 'unknown' } as const

function limitOf(store: FullStore, policy: RatePolicy, key = 'k') {
  return {
    policy,
    key,
    reserve: async (cost: number, options?: ReserveOptions) =>
      store.reserve([{ policy, key, cost }], options),
    settle: async (id: string, actual: number): Promise<SettleResult> =>
      (await store.settle([{ policy, key }], id, [actual]))[0]!,
    check: async (cost: number) => store.check({ policy, key, cost }),
    remaining: async () => (await store.peek({ policy, key, cost: 1 })).remaining,
  }
}

function renamePolicy(policy: RatePolicy, name: string): RatePolicy {
  return withLimit(policy, policy.limit, name)
}

function withLimit(policy: RatePolicy, limit: number, name = policy.name): RatePolicy {
  switch (policy.algorithm) {
    case 'fixed-window':
      return fixedWindow({ limit, window: '1m', name })
    case 'sliding-window-log':
      return slidingWindowLog({ limit, window: '1m', name })
    case 'sliding-window-counter':
      return slidingWindowCounter({ limit, window: '1m', name })
    default:
      return tokenBucket({ capacity: limit, refillRate: '10/1m', name })
  }
}
