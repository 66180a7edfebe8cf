import { sharedByCopies } from '../copies.js'
import { show, type TidegateError } from '../errors.js'
import { optionInvalid } from '../options.js'
import { type FailureOptions, parseFailureOptions, withFallback } from '../resilience/index.js'
import { assertStore } from '../store/assert-store.js'
import type { Store } from '../store/store.js'

/** Adds a deadline, a circuit breaker and a fallback to a store that can fail, unless `failure` is false. */
export function guardedStore(store: Store, failure: FailureOptions | false | undefined): Store {
  assertStore(store)
  // Validate unused options too, so that an error does not first appear when a remote store replaces a memory store.
  if (failure !== undefined && failure !== false) {
    if (typeof failure !== 'object' || failure === null) throw failureInvalid(failure)
    parseFailureOptions(failure, 'failure')
  }
  if (store.traits?.kind !== undefined || failure === false) return store
  if (failure !== undefined) return withFallback(store, failure)
  let shared = guarded.get(store)
  if (shared === undefined) {
    shared = withFallback(store)
    guarded.set(store, shared)
  }
  return shared
}

function failureInvalid(failure: unknown): TidegateError {
  return optionInvalid(
    'failure',
    `failure must be an object such as { deadlineMs: 100 }, or false, got ${show(failure)}. Leave it out for the defaults.`,
  )
}

/** By the wrapped store, so that limiters on one store share its circuit breaker. */
const guarded = sharedByCopies('stores with a fallback', () => new WeakMap<Store, Store>())
