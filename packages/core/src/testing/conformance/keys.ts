import { fixedWindow } from '../../policy/index.js'
import { START_MS } from '../tables.js'
import { codeOf, type Suite, take } from './suite.js'

export function testKeys({ describe, promise, deepEqual }: Suite): void {
  describe('keys', () => {
    const policy = fixedWindow({ limit: 1, window: '1h', name: 'keys' })

    promise('keys with unusual characters work like any other', async (store) => {
      const odd = [
        '__proto__',
        'constructor',
        'hasOwnProperty',
        '0',
        ' ',
        'a b',
        '{a}',
        '{b}',
        '%7Ba%7D',
        '%',
        'a:b',
        '🦭',
        '한국어',
        'é',
        'e\u0301',
        'x'.repeat(256),
        '🦭'.repeat(64),
      ]
      for (const key of odd) deepEqual([key, (await take(store, policy, key)).allowed], [key, true])
      for (const key of odd) deepEqual([key, (await take(store, policy, key)).allowed], [key, false])
    })

    promise('a policy name and a key never share state with another pair', async (store) => {
      const names = ['a', 'a-b', 'a_b']
      for (const name of names)
        for (const key of ['b', 'b:c', 'a:b', ':', '-b']) {
          const decision = await take(store, fixedWindow({ limit: 1, window: '1h', name }), key)
          deepEqual([name, key, decision.allowed], [name, key, true])
        }
    })

    promise('rejects an invalid key', async (store) => {
      const bad = [
        '',
        'x'.repeat(257),
        `${'🦭'.repeat(64)}x`,
        '\ud800',
        'a\udc00b',
        'a\nb',
        '\u0000',
        '\u007f',
        '\u0085',
        '\u009f',
        5 as never,
        undefined as never,
        null as never,
      ]
      for (const key of bad) {
        for (const call of [
          () => store.check({ policy, key, cost: 1 }),
          () => store.peek({ policy, key, cost: 1 }),
          () => store.reset({ policy, key }),
          () => store.refund({ policy, key, timeMs: START_MS, cost: 1 }),
          () =>
            store.take([
              { policy, key: 'fine', cost: 1 },
              { policy, key, cost: 1 },
            ]),
        ]) {
          deepEqual([key, await codeOf(call)], [key, 'KEY_INVALID'])
        }
      }
      deepEqual((await store.peek({ policy, key: 'fine', cost: 1 })).remaining, 1)
    })
  })
}
