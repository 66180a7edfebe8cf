import {
  fixedWindow,
  leakyBucket,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../policy/index.js'
import { EACH, renamePolicy, type Suite, take } from './suite.js'

export function testChangedNumbers({ describe, promise, deepEqual }: Suite): void {
  describe('changed numbers', () => {
    promise('a new limit keeps what has been used', async (store) => {
      const before = fixedWindow({ limit: 10, window: '1h', name: 'changed' })
      const after = (limit: number) => fixedWindow({ limit, window: '1h', name: 'changed' })
      await take(store, before, 'k', 6)
      deepEqual((await store.peek({ policy: after(8), key: 'k', cost: 1 })).remaining, 2)
      deepEqual((await store.peek({ policy: after(4), key: 'k', cost: 1 })).remaining, 0)
      deepEqual((await take(store, after(20), 'k', 14)).remaining, 0)
    })

    promise('a smaller capacity reduces the tokens, but not the level of a leaky bucket', async (store) => {
      const token = (capacity: number) => tokenBucket({ capacity, refillRate: '1/1h', name: 'cut-token' })
      const leaky = (capacity: number) => leakyBucket({ capacity, leakRate: '1/1h', name: 'cut-leaky' })
      await take(store, token(100), 'k', 1)
      deepEqual((await store.peek({ policy: token(10), key: 'k', cost: 1 })).remaining, 10)
      await take(store, leaky(100), 'k', 50)
      const above = await store.peek({ policy: leaky(10), key: 'k', cost: 1 })
      deepEqual([above.remaining, above.retryAfterMs], [0, 41 * 3_600_000])
    })

    promise(
      'a new rate applies from the last write, and the level is rounded against the client',
      async (store, clock) => {
        await take(store, tokenBucket({ capacity: 10, refillRate: '1/1s', name: 'rate' }), 'k', 10)
        clock.advance(1500)
        // 1.5 s at the new rate of 1 in 3 s are half a token.
        const slower = tokenBucket({ capacity: 10, refillRate: '1/3s', name: 'rate' })
        const decision = await take(store, slower, 'k')
        deepEqual([decision.allowed, decision.remaining, decision.retryAfterMs], [false, 0, 1500])
      },
    )

    promise('a fixed window keeps its length until it ends', async (store, clock) => {
      const hour = fixedWindow({ limit: 10, window: '1h', name: 'window' })
      const minute = fixedWindow({ limit: 10, window: '1m', name: 'window' })
      clock.advance(600_000)
      await take(store, hour, 'k', 7)
      const second = await take(store, minute, 'k', 1)
      deepEqual([second.remaining, second.resetAfterMs], [2, 3_000_000])
      clock.advance(60_000)
      deepEqual((await take(store, minute, 'k', 2)).remaining, 0)
      const denied = await take(store, minute, 'k', 1)
      deepEqual([denied.allowed, denied.retryAfterMs], [false, 2_940_000])
      clock.advance(2_940_000)
      const next = await take(store, minute, 'k', 1)
      deepEqual([next.remaining, next.resetAfterMs], [9, 60_000])
    })

    promise('a new window keeps the estimate of a counter and the times of a log', async (store, clock) => {
      const counter = (window: '1m' | '10m') => slidingWindowCounter({ limit: 100, window, name: 'counter' })
      const log = (window: '1m' | '10m') => slidingWindowLog({ limit: 100, window, name: 'log' })
      for (const policy of [counter('1m'), log('1m')]) await take(store, policy, 'k', 80)
      clock.advance(90_000)
      deepEqual((await take(store, counter('10m'), 'k', 1)).remaining, 59)
      for (const policy of [log('1m')]) await take(store, policy, 'l', 10)
      clock.advance(30_000)
      await take(store, log('1m'), 'l', 10)
      deepEqual((await store.peek({ policy: log('10m'), key: 'l', cost: 1 })).remaining, 80)
    })

    promise('another algorithm starts with the full limit, and never fails', async (store) => {
      for (const first of EACH) {
        for (const second of EACH) {
          if (first.algorithm === second.algorithm) continue
          await take(store, renamePolicy(first), 'k', 10)
          deepEqual((await take(store, renamePolicy(second), 'k')).remaining, 9)
          await store.reset({ policy: renamePolicy(second), key: 'k' })
        }
      }
    })

    promise('a take or reset under another algorithm deletes the count of its key only', async (store) => {
      for (const first of EACH) {
        for (const second of EACH) {
          if (first.algorithm === second.algorithm) continue
          const [own, policy] = [renamePolicy(first), renamePolicy(second)]
          for (const key of ['taken', 'reset', 'left alone']) await take(store, own, key, 4)
          await take(store, policy, 'taken')
          await store.reset({ policy, key: 'reset' })
          const remaining = async (key: string) => (await store.peek({ policy: own, key, cost: 1 })).remaining
          deepEqual(
            [await remaining('taken'), await remaining('reset'), await remaining('left alone')],
            [10, 10, 6],
          )
          await take(store, own, 'taken', 3)
          deepEqual((await store.peek({ policy, key: 'taken', cost: 1 })).remaining, 10)
          for (const key of ['taken', 'reset', 'left alone']) await store.reset({ policy: own, key })
        }
      }
    })

    promise('a peek, a refund and a denied take under another algorithm keep the count', async (store) => {
      const full = fixedWindow({ limit: 1, window: '1h', name: 'full' })
      await take(store, full, 'k')
      for (const first of EACH) {
        for (const second of EACH) {
          if (first.algorithm === second.algorithm) continue
          const [own, policy] = [renamePolicy(first), renamePolicy(second)]
          const { timeMs } = await take(store, own, 'k', 10)
          deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
          deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 1 }), 0)
          await store.reset({ policy, key: 'other' })
          const requests = [policy, full].map((policy) => ({ policy, key: 'k', cost: 1 }))
          deepEqual((await store.take(requests)).allowed, false)
          deepEqual((await store.peek({ policy: own, key: 'k', cost: 1 })).remaining, 0)
          await store.reset({ policy: own, key: 'k' })
        }
      }
    })
  })
}
