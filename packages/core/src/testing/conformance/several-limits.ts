import { fixedWindow, leakyBucket, tokenBucket } from '../../policy/index.js'
import { codeOf, fill, type Suite, take } from './suite.js'

export function testSeveralLimits({ describe, promise, deepEqual }: Suite): void {
  describe('takes of several limits', () => {
    const everybody = tokenBucket({ capacity: 5, refillRate: '1/1h', name: 'everybody' })
    const perUser = fixedWindow({ limit: 3, window: '1h', name: 'per-user' })

    promise('takes from all of them', async (store) => {
      const result = await store.take([
        { policy: everybody, key: 'all', cost: 1 },
        { policy: perUser, key: 'ann', cost: 2 },
      ])
      deepEqual([result.allowed, result.retryAfterMs], [true, 0])
      deepEqual(
        result.decisions.map((decision) => [decision?.policy, decision?.cost, decision?.remaining]),
        [
          ['everybody', 1, 4],
          ['per-user', 2, 1],
        ],
      )
    })

    promise('takes from none if one denies', async (store) => {
      await take(store, perUser, 'ann', 3)
      const result = await store.take([
        { policy: everybody, key: 'all', cost: 2 },
        { policy: perUser, key: 'ann', cost: 1 },
      ])
      deepEqual([result.allowed, result.retryAfterMs], [false, 3_600_000])
      deepEqual(
        result.decisions.map((decision) => [decision?.allowed, decision?.remaining]),
        [
          [true, 5],
          [false, 0],
        ],
      )
      deepEqual((await store.peek({ policy: everybody, key: 'all', cost: 1 })).remaining, 5)
    })

    promise('has the longest wait and the longest delay of its limits', async (store) => {
      const slow = leakyBucket({ capacity: 3, leakRate: '1/10s', name: 'slow' })
      const fast = leakyBucket({ capacity: 3, leakRate: '1/1s', name: 'fast' })
      const both = [slow, fast].map((policy) => ({ policy, key: 'k', cost: 2 }))
      deepEqual((await store.take(both)).delayMs, 0)
      const denied = await store.take(both)
      deepEqual([denied.allowed, denied.retryAfterMs, denied.delayMs], [false, 10_000, 0])
      const one = await store.take(both.map((request) => ({ ...request, cost: 1 })))
      deepEqual([one.allowed, one.delayMs], [true, 20_000])
    })

    promise('has no delay if it is denied, even if one of its limits has a delay', async (store) => {
      const leaky = leakyBucket({ capacity: 3, leakRate: '1/10s', name: 'leaky' })
      await take(store, leaky, 'k')
      await take(store, perUser, 'ann', 3)
      const denied = await store.take([
        { policy: leaky, key: 'k', cost: 1 },
        { policy: perUser, key: 'ann', cost: 1 },
      ])
      deepEqual([denied.allowed, denied.decisions[0]?.delayMs, denied.delayMs], [false, 10_000, 0])
    })

    promise('adds the costs of one policy and key', async (store) => {
      const request = { policy: perUser, key: 'ann', cost: 1 }
      const both = await store.take([request, { ...request, cost: 2 }])
      deepEqual(
        [both.allowed, ...both.decisions.map((decision) => [decision?.cost, decision?.remaining])],
        [true, [1, 0], [2, 0]],
      )
      deepEqual(
        await codeOf(() =>
          store.take([
            { ...request, cost: 2 },
            { ...request, cost: 2 },
          ]),
        ),
        'COST_ABOVE_LIMIT',
      )
    })

    promise('ignores changes of the list after the call', async (store) => {
      const policy = fixedWindow({ limit: 10, window: '1h' })
      const requests = ['a', 'b'].map((key, i) => ({ policy, key, cost: 2 + i }))
      const taking = store.take(requests)
      requests.length = 0
      const { decisions } = await taking
      deepEqual(
        decisions.map((decision) => [decision?.cost, decision?.remaining]),
        [
          [2, 8],
          [3, 7],
        ],
      )
    })

    promise('treats equal numbers in different notations as one policy', async (store) => {
      const perSecond = tokenBucket({ capacity: 5, refillRate: 1 })
      const perMinute = tokenBucket({ capacity: 5, refillRate: '60/1m' })
      const { decisions } = await store.take(
        [perSecond, perMinute].map((policy) => ({ policy, key: 'k', cost: 2 })),
      )
      deepEqual(
        decisions.map((decision) => decision?.remaining),
        [1, 1],
      )
    })

    promise('counts each policy and key separately', async (store) => {
      await store.take([
        { policy: perUser, key: 'ann', cost: 3 },
        { policy: perUser, key: 'bob', cost: 1 },
      ])
      deepEqual(await fill(store, perUser, 'bob'), 2)
      deepEqual(await fill(store, everybody, 'ann'), 5)
    })

    promise(
      'rejects one name with two sets of numbers, an empty list, and one that is too long',
      async (store) => {
        const other = fixedWindow({ limit: 4, window: '1h', name: 'per-user' })
        const requests = [perUser, other].map((policy) => ({ policy, key: 'k', cost: 1 }))
        deepEqual(await codeOf(() => store.take(requests)), 'TAKE_INVALID')
        deepEqual(await codeOf(() => store.take([])), 'TAKE_INVALID')
        const tooMany = Array.from({ length: 1001 }, () => requests[0]!)
        deepEqual(await codeOf(() => store.take(tooMany)), 'TAKE_INVALID')
        const thousand = fixedWindow({ limit: 1000, window: '1h', name: 'thousand' })
        const most = Array.from({ length: 1000 }, () => ({ policy: thousand, key: 'k', cost: 1 }))
        deepEqual((await store.take(most)).allowed, true)
        deepEqual((await store.peek({ policy: perUser, key: 'k', cost: 1 })).remaining, 3)
      },
    )
  })
}
