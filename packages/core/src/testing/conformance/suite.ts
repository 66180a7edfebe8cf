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
import type { Operation } from '../../store/operations.js'
import type { FullStore, Store } from '../../store/store.js'

/** The tools of the tests of each topic. */
export interface Suite {
  describe: (title: string, define: () => void) => void
  /** The operations that the store offers beside those of `Store`. */
  operations: readonly Operation[]
  /** One promise of every store, as a test with a new store on a clock that starts at `START_MS`. */
  promise: (title: string, test: (store: Store, clock: ManualClock) => Promise<void>) => void
  /** The same for a store that offers more than `Store`. */
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

/** The same numbers under one name. */
export function renamed(policy: Policy): Policy {
  return definePolicy({ ...policy, name: 'shared-name' })
}

/** The code of the error that a call fails with. */
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

/** Checks one unit at a time until one is denied, and counts. */
export async function fill(store: Store, policy: Policy, key: string): Promise<number> {
  for (let count = 0; ; count++) if (!(await take(store, policy, key)).allowed) return count
}
