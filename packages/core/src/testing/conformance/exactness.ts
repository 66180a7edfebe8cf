import { fixedWindow, tokenBucket } from '../../policy/index.js'
import { EACH, type Suite, take } from './suite.js'

export function testExactness({ describe, promise, deepEqual }: Suite): void {
  describe('exactness', () => {
    promise('admits exactly the limit of 200 parallel checks', async (store) => {
      for (const policy of EACH) {
        const all = await Promise.all(Array.from({ length: 200 }, () => take(store, policy, 'crowd')))
        deepEqual(
          [policy.algorithm, all.filter((decision) => decision.allowed).length],
          [policy.algorithm, 10],
        )
      }
    })

    promise('admits exactly the limit of 100 parallel takes of two limits', async (store) => {
      const wide = fixedWindow({ limit: 40, window: '1h', name: 'wide' })
      const narrow = tokenBucket({ capacity: 15, refillRate: '1/1h', name: 'narrow' })
      const requests = [
        { policy: wide, key: 'w', cost: 1 },
        { policy: narrow, key: 'n', cost: 1 },
      ]
      const all = await Promise.all(Array.from({ length: 100 }, () => store.take(requests)))
      deepEqual(all.filter((result) => result.allowed).length, 15)
      deepEqual((await store.peek({ policy: wide, key: 'w', cost: 1 })).remaining, 25)
    })
  })
}
