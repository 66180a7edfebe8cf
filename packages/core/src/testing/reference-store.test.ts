import { deepStrictEqual } from 'node:assert'
import { describe, it } from 'vitest'
import { testStore } from './conformance.js'
import { ReferenceStore } from './reference-store.js'

testStore({ describe, it, deepEqual: deepStrictEqual, open: (clock) => new ReferenceStore(clock) })
