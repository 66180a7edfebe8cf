import { deepStrictEqual } from 'node:assert'
import type { Clock, Store } from '@tidegate/core'
import { testStore } from '@tidegate/core/testing'
import { describe, it } from 'vitest'
import type { RedisStoreOptions } from '../src/redis-store.js'
import { TEST_CLOCK } from '../src/test-clock.js'

let number = 0

/**
 * The whole conformance suite, without the denial cache and with it, as users get the store. Each test has its own
 * prefix.
 */
export function conforms(open: (options: RedisStoreOptions) => Store, prefix = 'test'): void {
  const optionsOf = (clock: Clock): RedisStoreOptions =>
    ({ prefix: `${prefix}-${number++}`, [TEST_CLOCK]: clock }) as RedisStoreOptions

  describe('without the denial cache', () => {
    testStore({
      describe,
      it,
      deepEqual: deepStrictEqual,
      operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
      open: (clock) => open({ ...optionsOf(clock), denialCacheMs: 0 }),
    })
  })

  describe('with the denial cache', () => {
    const reason = 'a cost above a denied one is denied from the cache, with the waits of the denied one'
    testStore({
      // Defined at once: vitest defines a group later, after the suite has looked for the tests in `skip`.
      describe: (_title, define) => define(),
      it,
      deepEqual: deepStrictEqual,
      operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
      open: (clock) => open(optionsOf(clock)),
      skip: [
        { test: 'sliding window log: each unit leaves exactly one window later', reason },
        { test: 'sliding window counter: the last window counts by the share still covered', reason },
        { test: 'decides random traces like the reference store', reason },
      ],
    })
  })
}
