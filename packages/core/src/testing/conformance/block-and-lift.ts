import {
  definePolicy,
  fixedWindow,
  leakyBucket,
  type RatePolicy,
  slidingWindowLog,
} from '../../policy/index.js'
import { START_MS } from '../tables.js'
import { codeOf, EACH, fill, type Suite, take } from './suite.js'

const DAY_MS = 86_400_000

export function testBlocks({ describe, promiseOfFull, deepEqual }: Suite): void {
  describe('blocks', () => {
    promiseOfFull('every check of a blocked key is denied until the block ends', async (store, clock) => {
      for (const policy of EACH) {
        await store.block({ policy, key: 'k', durationMs: 90_000 })
        const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason } = await take(
          store,
          policy,
          'k',
        )
        deepEqual(
          { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason },
          {
            allowed: false,
            remaining: 0,
            retryAfterMs: 90_000,
            resetAfterMs: 90_000,
            delayMs: 0,
            reason: 'blocked',
          },
        )
        deepEqual((await take(store, policy, 'other')).allowed, true)
        clock.advance(89_999.999)
        const last = await store.peek({ policy, key: 'k', cost: 1 })
        deepEqual([last.allowed, last.retryAfterMs, last.reason], [false, 0.001, 'blocked'])
        clock.advance(0.001)
        const free = await take(store, policy, 'k')
        deepEqual([free.allowed, free.remaining, free.reason], [true, 9, undefined])
      }
    })

    promiseOfFull('a check ends a block that is over, even if the clock steps back', async (store, clock) => {
      for (const policy of EACH) {
        const startMs = clock.nowMs()
        for (const [key, look] of [
          ['checked', () => take(store, policy, 'checked')],
          ['taken', () => store.take([{ policy, key: 'taken', cost: 1 }])],
          ['peeked', () => store.peek({ policy, key: 'peeked', cost: 1 })],
        ] as const) {
          await store.block({ policy, key, durationMs: 2000 })
          clock.advance(3000)
          deepEqual((await look()).allowed, true)
          clock.set(startMs + 1000)
          const { reason } = await take(store, policy, key)
          deepEqual([key, reason], [key, key === 'peeked' ? 'blocked' : undefined])
          clock.set(startMs)
        }
        clock.advance(DAY_MS)
      }
    })

    promiseOfFull('the count is charged, refunded and kept during a block', async (store, clock) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 6)
        await store.block({ policy, key: 'k', durationMs: 1000 })
        await take(store, policy, 'k', 3)
        deepEqual((await store.charge({ policy, key: 'k', cost: 3 })).remaining, 1)
        deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 1 }), 1)
        deepEqual((await take(store, policy, 'k')).reason, 'blocked')
        clock.advance(1000)
        deepEqual(await fill(store, policy, 'k'), 2)
      }
    })

    promiseOfFull('a refund of everything does not lift a block', async (store) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 6)
        await store.block({ policy, key: 'k', durationMs: 1000 })
        deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 6 }), 6)
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 1000)
      }
    })

    promiseOfFull('the wait is the longer one of the block and the limit', async (store) => {
      const policy = fixedWindow({ limit: 1, window: '1h', name: 'hour' })
      await take(store, policy, 'k')
      await store.block({ policy, key: 'k', durationMs: 60_000 })
      const { retryAfterMs, resetAfterMs, reason } = await take(store, policy, 'k')
      deepEqual([retryAfterMs, resetAfterMs, reason], [3_600_000, 3_600_000, 'blocked'])
    })

    promiseOfFull('reset lifts a block', async (store) => {
      for (const policy of EACH) {
        await take(store, policy, 'k', 10)
        await store.block({ policy, key: 'k', durationMs: 1000 })
        await store.reset({ policy, key: 'k' })
        deepEqual((await take(store, policy, 'k')).remaining, 9)
      }
    })

    promiseOfFull('a later block replaces an earlier one', async (store) => {
      const policy = EACH[0]!
      for (const durationMs of [10_000, 2000]) await store.block({ policy, key: 'k', durationMs })
      deepEqual((await take(store, policy, 'k')).retryAfterMs, 2000)
    })

    promiseOfFull('a blocked limit denies a take of several', async (store) => {
      const [fixed, log] = [EACH[0]!, EACH[1]!]
      await store.block({ policy: log, key: 'k', durationMs: 90_000 })
      const result = await store.take([fixed, log].map((policy) => ({ policy, key: 'k', cost: 1 })))
      deepEqual([result.allowed, result.retryAfterMs], [false, 90_000])
      deepEqual(
        result.decisions.map((decision) => [decision?.allowed, decision?.reason]),
        [
          [true, undefined],
          [false, 'blocked'],
        ],
      )
      deepEqual((await store.peek({ policy: fixed, key: 'k', cost: 1 })).remaining, 10)
    })

    promiseOfFull('under another clock, a block lasts at most its duration', async (store, clock) => {
      for (const policy of EACH) {
        clock.set(START_MS)
        await store.block({ policy, key: 'k', durationMs: 90_000 })
        clock.advance(-DAY_MS)
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).retryAfterMs, 90_000)
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 90_000)
        clock.advance(60_000)
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 30_000)
        clock.advance(30_000)
        deepEqual((await take(store, policy, 'k')).allowed, true)
      }
    })

    promiseOfFull('rejects a block without a valid duration', async (store) => {
      const policy = EACH[0]!
      for (const durationMs of [0, -1, Number.NaN, 367 * DAY_MS, '1m' as never]) {
        const code = await codeOf(() => store.block({ policy, key: 'k', durationMs }))
        deepEqual([durationMs, code], [durationMs, 'BLOCK_INVALID'])
      }
      deepEqual(await codeOf(() => store.block({ policy, key: '', durationMs: 1000 })), 'KEY_INVALID')
      deepEqual((await take(store, policy, 'k')).allowed, true)
    })
  })

  describe('blockFor', () => {
    const withBlock = (policy: RatePolicy): RatePolicy =>
      definePolicy({ ...policy, blockFor: '15m' }) as RatePolicy

    promiseOfFull('a limit that denies with nothing remaining blocks its key', async (store, clock) => {
      for (const policy of EACH.map(withBlock)) {
        deepEqual(await fill(store, policy, 'k'), 10)
        const { retryAfterMs, reason } = await store.peek({ policy, key: 'k', cost: 1 })
        deepEqual([policy.name, retryAfterMs, reason], [policy.name, 900_000, 'blocked'])
        clock.advance(600_000)
        // A check during the block does not prolong it.
        deepEqual((await take(store, policy, 'k')).retryAfterMs, 300_000)
        clock.advance(300_000)
        deepEqual((await take(store, policy, 'k')).remaining, 9)
      }
    })

    promiseOfFull(
      'a peek does not block, and neither does a denied cost while units remain',
      async (store) => {
        for (const policy of EACH.map(withBlock)) {
          await take(store, policy, 'k', 8)
          deepEqual((await take(store, policy, 'k', 3)).reason, undefined)
          await take(store, policy, 'k', 2)
          deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).reason, undefined)
          deepEqual((await take(store, policy, 'k')).reason, 'blocked')
        }
      },
    )

    promiseOfFull('with countDenied, a denied cost does not block while units remain', async (store) => {
      const policy = slidingWindowLog({
        limit: 10,
        window: '1m',
        countDenied: true,
        blockFor: '15m',
        name: 'log',
      })
      await take(store, policy, 'k', 8)
      deepEqual((await take(store, policy, 'k', 3)).reason, undefined)
      deepEqual((await take(store, policy, 'k', 3)).reason, 'blocked')
    })

    promiseOfFull('in a denied take, only the limits that deny block their keys', async (store) => {
      const [tight, wide] = [1, 10].map((limit) =>
        fixedWindow({ limit, window: '1m', blockFor: '15m', name: `limit-${limit}` }),
      ) as [RatePolicy, RatePolicy]
      const leaky = leakyBucket({ capacity: 1, leakRate: 1, blockFor: '1h', name: 'leaky' })
      const requests = [tight, wide, leaky].map((policy) => ({ policy, key: 'k', cost: 1 }))
      await take(store, tight, 'k')
      const denied = await store.take(requests)
      deepEqual(
        [denied.retryAfterMs, ...denied.decisions.map((decision) => decision?.reason)],
        [900_000, 'blocked', undefined, undefined],
      )
      deepEqual((await take(store, wide, 'k')).remaining, 9)
      deepEqual((await take(store, leaky, 'k')).remaining, 0)
      deepEqual((await take(store, tight, 'k')).retryAfterMs, 900_000)
    })

    promiseOfFull('a block does not reset the quota', async (store, clock) => {
      const policy = fixedWindow({ limit: 100, window: '1d', blockFor: '1m', name: 'daily' })
      clock.set(Math.floor(START_MS / DAY_MS) * DAY_MS)
      let admitted = 0
      for (let i = 0; i < 24 * 12; i++) {
        for (let j = 0; j < 2; j++) if ((await take(store, policy, 'k')).allowed) admitted++
        clock.advance(DAY_MS / (24 * 12))
      }
      deepEqual(admitted, 100)
      deepEqual((await take(store, policy, 'k')).allowed, true)
    })
  })
}
