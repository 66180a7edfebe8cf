import { sharedByCopies } from '../copies.js'
import { type FailureOptions, parseFailureOptions, withFallback } from '../resilience/index.js'
import { assertStore } from '../store/assert-store.js'
import type { Store } from '../store/store.js'

/** Adds a deadline, a circuit breaker and a fallback to a store that can fail, unless `failure` is false. */
export function guardedStore(store: Store, failure: FailureOptions | false | undefined): Store {
  assertStore(store)
  // Validate unused options too, so that an error does not first appear when a remote store replaces a memory store.
  if (failure !== undefined && failure !== false) parseFailureOptions(failure)
  if (store.traits?.kind !== undefined || failure === false) return store
  if (failure !== undefined) return withFallback(store, failure)
  let shared = guarded.get(store)
  if (shared === undefined) {
    shared = withFallback(store)
    guarded.set(store, shared)
  }
  return shared
}

/** By the wrapped store, so that limiters on one store share its circuit breaker. */
const guarded = sharedByCopies('stores with a fallback', () => new WeakMap<Store, Store>())
