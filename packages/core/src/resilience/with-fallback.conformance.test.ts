import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { testStore } from '../testing/index.js'
import { withFallback } from './index.js'

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  operations: ['charge', 'block', 'takeUpTo', 'reserve', 'settle', 'release', 'renew'],
  open: (clock) => withFallback(new FallibleStore(clock), { onEvent() {} }),
})
