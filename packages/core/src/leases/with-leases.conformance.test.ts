import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { testStore } from '../testing/index.js'
import { withLeases } from './index.js'

// Policies without a lease: every operation is passed to the store unchanged.
testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
  open: (clock) => withLeases(new FallibleStore(clock)),
})
