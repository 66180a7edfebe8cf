import { codeOf, EACH, type Suite } from './suite.js'

export function testCosts({ describe, promise, deepEqual }: Suite): void {
  describe('costs', () => {
    promise(
      'rejects a cost that is not a whole number from 1 to the limit, and changes nothing',
      async (store) => {
        const policy = EACH[3]!
        for (const cost of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1' as never, null as never]) {
          deepEqual(
            [cost, await codeOf(() => store.check({ policy, key: 'k', cost }))],
            [cost, 'COST_INVALID'],
          )
          deepEqual(
            [cost, await codeOf(() => store.peek({ policy, key: 'k', cost }))],
            [cost, 'COST_INVALID'],
          )
        }
        deepEqual(await codeOf(() => store.check({ policy, key: 'k', cost: 11 })), 'COST_ABOVE_LIMIT')
        deepEqual(
          await codeOf(() =>
            store.take([
              { policy, key: 'k', cost: 1 },
              { policy, key: 'l', cost: 11 },
            ]),
          ),
          'COST_ABOVE_LIMIT',
        )
        deepEqual((await store.peek({ policy, key: 'k', cost: 10 })).remaining, 10)
      },
    )

    promise('rejects a policy that was not made by a factory', async (store) => {
      const policy = { algorithm: 'fixed-window', name: 'each-fixed', limit: 10, window: 60_000 } as never
      deepEqual(await codeOf(() => store.check({ policy, key: 'k', cost: 1 })), 'POLICY_INVALID')
      deepEqual(
        await codeOf(() => store.check({ policy: undefined as never, key: 'k', cost: 1 })),
        'POLICY_INVALID',
      )
    })
  })
}
