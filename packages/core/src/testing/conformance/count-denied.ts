import { fixedWindow, slidingWindowCounter, slidingWindowLog } from '../../policy/index.js'
import { type Suite, take } from './suite.js'

export function testCountDenied({ describe, promise, deepEqual }: Suite): void {
  describe('counting denied requests', () => {
    const options = { limit: 3, window: '1m', countDenied: true } as const
    const log = slidingWindowLog({ ...options, name: 'log' })
    const counter = slidingWindowCounter({ ...options, name: 'counter' })
    const fixed = fixedWindow({ ...options, name: 'fixed' })

    promise('a client that keeps trying stays denied by a log', async (store, clock) => {
      await take(store, log, 'k', 3)
      for (let i = 0; i < 20; i++) {
        clock.advance(15_000)
        deepEqual((await take(store, log, 'k')).allowed, false)
      }
      // The units of the last two checks still count.
      clock.advance(30_000)
      deepEqual((await take(store, log, 'k')).remaining, 0)
    })

    promise('the wait includes the charge of the denied request', async (store, clock) => {
      for (const policy of [log, counter, fixed]) {
        await take(store, policy, policy.name, 3)
        clock.advance(10_000)
        for (let i = 0; i < 3; i++) await take(store, policy, policy.name)
        const { allowed, retryAfterMs, remaining } = await take(store, policy, policy.name)
        deepEqual([policy.name, allowed, remaining], [policy.name, false, 0])
        clock.advance(retryAfterMs - 0.001)
        const early = await store.peek({ policy, key: policy.name, cost: 1 })
        deepEqual([policy.name, early.allowed, early.retryAfterMs], [policy.name, false, 0.001])
        clock.advance(0.001)
        deepEqual([policy.name, (await take(store, policy, policy.name)).allowed], [policy.name, true])
      }
    })

    promise('denied requests of a fixed window count until its end', async (store, clock) => {
      for (let i = 0; i < 10; i++) await take(store, fixed, 'k')
      clock.advance(60_000)
      deepEqual((await take(store, fixed, 'k')).remaining, 2)
    })

    promise('a log keeps at most twice its limit', async (store, clock) => {
      for (let i = 0; i < 20; i++) {
        await take(store, log, 'k')
        clock.advance(1000)
      }
      // The newest six units are of seconds 14 to 19.
      const { retryAfterMs } = await store.peek({ policy: log, key: 'k', cost: 1 })
      deepEqual(retryAfterMs, 57_000)
    })

    promise('peek charges nothing', async (store) => {
      await take(store, log, 'k', 3)
      const first = await store.peek({ policy: log, key: 'k', cost: 1 })
      deepEqual(await store.peek({ policy: log, key: 'k', cost: 1 }), first)
    })

    promise('in a denied take, only the limits that deny are charged', async (store, clock) => {
      const wide = slidingWindowLog({ limit: 10, window: '1m', countDenied: true, name: 'wide' })
      const both = [
        { policy: log, key: 'k', cost: 1 },
        { policy: wide, key: 'k', cost: 1 },
      ]
      await take(store, log, 'k', 3)
      clock.advance(30_000)
      deepEqual((await store.take(both)).allowed, false)
      deepEqual((await store.peek({ policy: wide, key: 'k', cost: 1 })).remaining, 10)
      clock.advance(30_000)
      deepEqual((await store.peek({ policy: log, key: 'k', cost: 1 })).remaining, 2)
    })
  })
}
