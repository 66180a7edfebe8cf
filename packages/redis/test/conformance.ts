import { deepStrictEqual } from 'node:assert'
import type { Clock, Store } from '@tidegate/core'
import { testStore } from '@tidegate/core/testing'
import { describe, it } from 'vitest'
import type { RedisStoreOptions } from '../src/redis-store.js'
import { TIME_DOOR } from '../src/time-door.js'

let number = 0

/**
 * The whole conformance suite with every check asked of Redis, and once more as users get the store, with
 * refusals answered from memory. Each test has a prefix of its own.
 */
export function conforms(open: (options: RedisStoreOptions) => Store, prefix = 'test'): void {
  const optionsOf = (clock: Clock): RedisStoreOptions =>
    ({ prefix: `${prefix}-${number++}`, [TIME_DOOR]: clock }) as RedisStoreOptions

  describe('every check asked', () => {
    testStore({
      describe,
      it,
      deepEqual: deepStrictEqual,
      open: (clock) => open({ ...optionsOf(clock), rememberRefusalsMs: 0 }),
    })
  })

  describe('refusals remembered', () => {
    const reason =
      'a cost dearer than a refused one is refused from memory, with the waits of the refused one'
    testStore({
      // At once: vitest defines a group later, when the suite has already missed the tests that `skip` names.
      describe: (_title, define) => define(),
      it,
      deepEqual: deepStrictEqual,
      open: (clock) => open(optionsOf(clock)),
      skip: [
        { test: 'sliding window log: each unit leaves exactly one window later', reason },
        { test: 'sliding window counter: the last window counts by the share still covered', reason },
        { test: 'decides random traces as the reference does', reason },
      ],
    })
  })
}
