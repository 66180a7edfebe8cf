import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { testStore } from '../testing/index.js'
import { MemoryStore } from './memory-store.js'

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
  open: (clock) => new MemoryStore({ clock }),
})
