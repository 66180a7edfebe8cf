import type { ManualClock } from '../../clock.js'
import type { Decision } from '../../decision.js'
import { TidegateError } from '../../errors.js'
import {
  definePolicy,
  fixedWindow,
  leakyBucket,
  type Policy,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../policy/index.js'
import type { FullStore } from '../../store/full-store.js'
import type { Operation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'

/** The functions for the tests of each topic. */
export interface Suite {
  describe: (title: string, define: () => void) => void
  /** The operations of `FullStore` that the store implements. */
  operations: readonly Operation[]
  /** Defines a test for every store. It gets a new store with a clock that starts at `START_MS`. */
  promise: (title: string, test: (store: Store, clock: ManualClock) => Promise<void>) => void
  /** Defines a test for stores with operations of `FullStore`. */
  promiseOfFull: (title: string, test: (store: FullStore, clock: ManualClock) => Promise<void>) => void
  deepEqual: (actual: unknown, expected: unknown) => void
}

export const EACH: readonly RatePolicy[] = [
  fixedWindow({ limit: 10, window: '1m', name: 'each-fixed' }),
  slidingWindowLog({ limit: 10, window: '1m', name: 'each-log' }),
  slidingWindowCounter({ limit: 10, window: '1m', name: 'each-counter' }),
  tokenBucket({ capacity: 10, refillRate: '10/1m', name: 'each-token' }),
  leakyBucket({ capacity: 10, leakRate: '10/1m', name: 'each-leaky' }),
]

/** The same policy under a common name. */
export function renamePolicy(policy: Policy): Policy {
  return definePolicy({ ...policy, name: 'shared-name' })
}

/** Returns the code of the error of a call. */
export async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    return error instanceof TidegateError ? error.code : String(error)
  }
  return 'no error'
}

export async function take(store: Store, policy: Policy, key: string, cost = 1): Promise<Decision> {
  return store.check({ policy, key, cost })
}

/** Checks one unit at a time until a check is denied. Returns the number of allowed checks. */
export async function fill(store: Store, policy: Policy, key: string): Promise<number> {
  for (let count = 0; ; count++) if (!(await take(store, policy, key)).allowed) return count
}
