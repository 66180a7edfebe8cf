import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { testStore } from '../testing/index.js'
import { surviveFailures } from './survive-failures.js'

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  open: (clock) => surviveFailures(new FallibleStore(clock)),
})
