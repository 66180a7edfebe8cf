import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { testStore } from './conformance/index.js'
import { ReferenceStore } from './reference-store.js'

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
  open: (clock) => new ReferenceStore(clock),
})
