import { fixedWindow, slidingWindowLog, tokenBucket } from '../../policy/index.js'
import { ReferenceStore } from '../reference-store.js'
import { START_MS } from '../tables.js'
import { EACH, type Suite, take } from './suite.js'

export function testClocks({ describe, promise, deepEqual }: Suite): void {
  describe('clocks', () => {
    promise('a clock that steps back gives no quota and costs at most one window', async (store, clock) => {
      for (const policy of EACH) {
        clock.set(START_MS + 30_000)
        await take(store, policy, 'k', 10)
        clock.advance(-60_000)
        const back = await take(store, policy, 'k')
        deepEqual([policy.algorithm, back.allowed], [policy.algorithm, false])
        clock.advance(-86_400_000)
        const far = await take(store, policy, 'k')
        deepEqual(
          [policy.algorithm, far.allowed, far.retryAfterMs <= 120_000],
          [policy.algorithm, false, true],
        )
        clock.advance(far.retryAfterMs)
        deepEqual([policy.algorithm, (await take(store, policy, 'k')).allowed], [policy.algorithm, true])
      }
    })

    promise(
      'a clock one span behind counts as the same clock, and one millisecond more as another clock',
      async (store, clock) => {
        for (const policy of EACH) {
          for (const behindMs of [60_000, 60_001]) {
            const same = new ReferenceStore(clock)
            clock.set(START_MS)
            for (const one of [same, store]) await take(one, policy, `k${behindMs}`, 10)
            clock.advance(-behindMs)
            const request = { policy, key: `k${behindMs}`, cost: 1 }
            deepEqual(await store.peek(request), same.peek(request))
          }
        }
      },
    )

    promise('waits are relative to the current time', async (store, clock) => {
      const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'behind' })
      await take(store, policy, 'k', 10)
      clock.advance(-4000)
      const denied = await take(store, policy, 'k')
      deepEqual([denied.retryAfterMs, denied.resetAfterMs, denied.timeMs], [5000, 14_000, START_MS - 4000])
    })

    promise('a denial also moves a state from another clock to this one', async (store, clock) => {
      const policy = slidingWindowLog({ limit: 2, window: '10s', name: 'moved' })
      await take(store, policy, 'k')
      clock.advance(4000)
      await take(store, policy, 'k')
      clock.advance(-3_600_000)
      deepEqual((await take(store, policy, 'k')).retryAfterMs, 6000)
      clock.advance(6000)
      deepEqual((await take(store, policy, 'k')).allowed, true)
    })

    promise('a denied take also moves the states of limits that allowed it', async (store, clock) => {
      const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
      const bucket = tokenBucket({ capacity: 10, refillRate: 1, name: 'moved-bucket' })
      await take(store, bucket, 'k', 5)
      clock.advance(-3_600_000)
      await take(store, full, 'k')
      deepEqual(
        (
          await store.take([
            { policy: full, key: 'k', cost: 1 },
            { policy: bucket, key: 'k', cost: 1 },
          ])
        ).allowed,
        false,
      )
      clock.advance(3000)
      deepEqual((await store.peek({ policy: bucket, key: 'k', cost: 1 })).remaining, 8)
    })
  })
}
