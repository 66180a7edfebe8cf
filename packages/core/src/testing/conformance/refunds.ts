import { slidingWindowCounter, tokenBucket } from '../../policy/index.js'
import { codeOf, EACH, type Suite, take } from './suite.js'

export function testRefunds({ describe, promise, deepEqual }: Suite): void {
  describe('refunds', () => {
    promise('a check and its refund leave the state unchanged', async (store, clock) => {
      for (const policy of EACH) {
        await take(store, policy, 'k', 3)
        clock.advance(1000)
        const before = await store.peek({ policy, key: 'k', cost: 1 })
        const { timeMs } = await take(store, policy, 'k', 4)
        deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 4 }), 4)
        deepEqual(await store.peek({ policy, key: 'k', cost: 1 }), before)
      }
    })

    promise('rejects a refund that is not a whole number, or without a time', async (store) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        for (const wrong of [
          { cost: 0 },
          { cost: -1 },
          { cost: 1.5 },
          { cost: Number.NaN },
          { timeMs: Number.NaN },
        ]) {
          deepEqual(
            await codeOf(() => store.refund({ policy, key: 'k', timeMs, cost: 1, ...wrong })),
            'REFUND_INVALID',
          )
        }
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 5)
      }
    })

    promise('gives back in parts', async (store) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        for (const cost of [2, 3]) deepEqual(await store.refund({ policy, key: 'k', timeMs, cost }), cost)
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
      }
    })

    promise("gives nothing back once units of the decision's time no longer count", async (store, clock) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        clock.advance(policy.algorithm === 'sliding-window-counter' ? 120_000 : 60_000)
        await take(store, policy, 'k', 5)
        deepEqual(
          [policy.algorithm, await store.refund({ policy, key: 'k', timeMs, cost: 5 })],
          [policy.algorithm, 0],
        )
        deepEqual(await store.refund({ policy, key: 'unused', timeMs, cost: 1 }), 0)
      }
    })

    promise('the counter gives back to the previous window, too', async (store, clock) => {
      const policy = slidingWindowCounter({ limit: 100, window: '1m', name: 'counter' })
      const { timeMs } = await take(store, policy, 'k', 80)
      clock.advance(90_000)
      deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 60 }), 60)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 90)
    })

    promise('a bucket is refunded up to its capacity', async (store, clock) => {
      const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'token' })
      const { timeMs } = await take(store, policy, 'k', 4)
      clock.advance(2500)
      deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 4 }), 1.5)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).resetAfterMs, 0)
    })
  })
}
