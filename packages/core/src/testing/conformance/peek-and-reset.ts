import type { Policy } from '../../policy/index.js'
import { EACH, type Suite, take } from './suite.js'

export function testPeekAndReset({ describe, promise, deepEqual }: Suite): void {
  describe('peek and reset', () => {
    promise('peek returns what check would return, and changes nothing', async (store) => {
      for (const policy of EACH) {
        const request = { policy, key: 'k', cost: 4 }
        const untouched = await store.peek(request)
        deepEqual([untouched.allowed, untouched.remaining, untouched.resetAfterMs], [true, 10, 0])
        deepEqual(await store.peek(request), untouched)
        deepEqual((await store.check(request)).remaining, 6)
        deepEqual((await store.check({ ...request, cost: 6 })).remaining, 0)
        const { retryAfterMs, allowed } = await store.peek(request)
        const check = await store.check(request)
        deepEqual([allowed, retryAfterMs], [false, check.retryAfterMs])
      }
    })

    promise('reset ends the count of one key of one policy', async (store) => {
      const [one, other] = [EACH[0]!, EACH[3]!]
      for (const key of ['ann', 'bob']) for (const policy of [one, other]) await take(store, policy, key, 10)
      await store.reset({ policy: one, key: 'ann' })
      const left = async (policy: Policy, key: string) =>
        (await store.peek({ policy, key, cost: 1 })).remaining
      deepEqual(
        [await left(one, 'ann'), await left(one, 'bob'), await left(other, 'ann'), await left(other, 'bob')],
        [10, 0, 0, 0],
      )
      await store.reset({ policy: one, key: 'unused' })
    })
  })
}
