import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { testStore } from '../testing/index.js'
import { withFallback } from './index.js'

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  open: (clock) => withFallback(new FallibleStore(clock), { onEvent() {} }),
})
