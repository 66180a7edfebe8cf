import {
  fixedWindow,
  leakyBucket,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../policy/index.js'
import { codeOf, EACH, type Suite, take } from './suite.js'

export function testCharges({ describe, promiseOfFull, deepEqual }: Suite): void {
  describe('charges', () => {
    promiseOfFull('a charge that fits takes its units like a check', async (store) => {
      for (const policy of EACH) {
        const request = { policy, key: 'k', cost: 4 }
        const expected = await store.check({ ...request, key: 'other' })
        deepEqual(await store.charge(request), { ...expected, charged: 4, overBy: 0 })
        deepEqual((await store.peek(request)).remaining, 6)
      }
    })

    promiseOfFull('a charge takes its units whether or not they fit', async (store) => {
      for (const policy of EACH) {
        await take(store, policy, 'k', 8)
        const { allowed, remaining, retryAfterMs, delayMs, charged, overBy, limit, cost } =
          await store.charge({
            policy,
            key: 'k',
            cost: 15,
          })
        const over = policy.algorithm === 'sliding-window-log' ? 10 : 13
        deepEqual(
          { allowed, remaining, retryAfterMs, delayMs, charged, overBy, limit, cost },
          {
            allowed: true,
            remaining: 0,
            retryAfterMs: 0,
            delayMs: 0,
            charged: 15,
            overBy: over,
            limit: 10,
            cost: 15,
          },
        )
        deepEqual((await take(store, policy, 'k')).allowed, false)
      }
    })

    promiseOfFull('debt survives every other operation on its key', async (store) => {
      for (const policy of EACH) {
        const request = { policy, key: 'k', cost: 1 }
        const { timeMs } = await store.charge({ ...request, cost: 15 })
        await store.check(request)
        await store.peek(request)
        await store.take([request, { ...request, key: 'other' }])
        await store.refund({ ...request, timeMs: timeMs - 3_600_000 })
        await store.block({ policy, key: 'k', durationMs: 1000 })
        await store.check(request)
        deepEqual([policy.name, (await store.charge(request)).overBy], [policy.name, 6])
      }
    })

    promiseOfFull('debt of a bucket is paid at its rate', async (store, clock) => {
      for (const policy of [
        tokenBucket({ capacity: 10, refillRate: 1, name: 'token' }),
        leakyBucket({ capacity: 10, leakRate: 1, name: 'leaky' }),
      ]) {
        const { resetAfterMs, overBy } = await store.charge({ policy, key: 'k', cost: 25 })
        deepEqual([policy.name, resetAfterMs, overBy], [policy.name, 25_000, 15])
        deepEqual((await take(store, policy, 'k', 2)).retryAfterMs, 17_000)
        clock.advance(16_500)
        // One and a half units above the empty bucket.
        deepEqual((await store.peek({ policy, key: 'k', cost: 2 })).retryAfterMs, 500)
        deepEqual((await store.charge({ policy, key: 'k', cost: 2 })).overBy, 1)
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 1500)
        clock.advance(1500)
        deepEqual((await take(store, policy, 'k')).allowed, true)
      }
    })

    promiseOfFull('debt of a fixed window ends with the window', async (store, clock) => {
      const policy = fixedWindow({ limit: 10, window: '1m', name: 'fixed' })
      await store.charge({ policy, key: 'k', cost: 1000 })
      deepEqual((await take(store, policy, 'k')).retryAfterMs, 60_000)
      clock.advance(60_000)
      deepEqual((await take(store, policy, 'k')).remaining, 9)
    })

    promiseOfFull('debt of a counter counts in the next window', async (store, clock) => {
      const policy = slidingWindowCounter({ limit: 10, window: '1m', name: 'counter' })
      await store.charge({ policy, key: 'k', cost: 40 })
      clock.advance(90_000)
      const half = await take(store, policy, 'k')
      // Half of 40 still counts; the last of 10 is free once 9 count.
      deepEqual([half.allowed, half.retryAfterMs], [false, 15_000.001])
    })

    promiseOfFull('a log keeps the newest twice its limit of units', async (store, clock) => {
      const policy = slidingWindowLog({ limit: 10, window: '1m', name: 'log' })
      await store.charge({ policy, key: 'k', cost: 12 })
      clock.advance(10_000)
      deepEqual((await store.charge({ policy, key: 'k', cost: 5 })).overBy, 7)
      clock.advance(10_000)
      // 12 + 5 + 9 units: the oldest 6 go.
      deepEqual((await store.charge({ policy, key: 'k', cost: 9 })).overBy, 10)
      clock.advance(40_000)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).retryAfterMs, 10_000)
      clock.advance(10_000)
      deepEqual((await take(store, policy, 'k')).remaining, 0)
    })

    promiseOfFull('the largest charges neither fail nor overflow', async (store, clock) => {
      for (const policy of EACH) {
        const cost = policy.algorithm === 'fixed-window' ? 10 ** 15 - 1 : 1_000_000_000
        for (let i = 0; i < 12; i++) {
          const { allowed, remaining, overBy = 0 } = await store.charge({ policy, key: 'k', cost })
          deepEqual([policy.name, allowed, remaining, overBy > 0], [policy.name, true, 0, true])
          clock.advance(1)
        }
        deepEqual((await take(store, policy, 'k')).allowed, false)
        await store.reset({ policy, key: 'k' })
        deepEqual((await take(store, policy, 'k')).remaining, 9)
      }
    })

    promiseOfFull('a charge can be given back', async (store, clock) => {
      for (const policy of EACH) {
        const before = await store.peek({ policy, key: 'k', cost: 1 })
        const { timeMs } = await store.charge({ policy, key: 'k', cost: 15 })
        deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 15 }), 15)
        deepEqual(await store.peek({ policy, key: 'k', cost: 1 }), before)
        clock.advance(1000)
      }
    })

    promiseOfFull('debt is converted with the numbers of its policy', async (store) => {
      const token = (rate: `${number}/${string}`) =>
        tokenBucket({ capacity: 10, refillRate: rate, name: 'token' })
      const leaky = (rate: `${number}/${string}`) =>
        leakyBucket({ capacity: 10, leakRate: rate, name: 'leaky' })
      for (const make of [token, leaky]) {
        await store.charge({ policy: make('1/1s'), key: 'k', cost: 25 })
        const slower = await store.peek({ policy: make('1/3s'), key: 'k', cost: 1 })
        deepEqual([slower.remaining, slower.retryAfterMs, slower.resetAfterMs], [0, 48_000, 75_000])
      }
    })

    promiseOfFull(
      'rejects a charge that is not a whole number in its range, and charges nothing',
      async (store) => {
        const [fixed, bucket] = [EACH[0]!, EACH[3]!]
        for (const cost of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e9 + 1, '1' as never]) {
          const code = await codeOf(() => store.charge({ policy: bucket, key: 'k', cost }))
          deepEqual([cost, code], [cost, 'CHARGE_INVALID'])
        }
        deepEqual(
          await codeOf(() => store.charge({ policy: fixed, key: 'k', cost: 10 ** 15 })),
          'CHARGE_INVALID',
        )
        deepEqual(await codeOf(() => store.charge({ policy: fixed, key: '', cost: 1 })), 'KEY_INVALID')
        deepEqual(
          await codeOf(() => store.charge({ policy: {} as never, key: 'k', cost: 1 })),
          'POLICY_INVALID',
        )
        for (const policy of [fixed, bucket]) {
          deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
        }
      },
    )
  })
}
