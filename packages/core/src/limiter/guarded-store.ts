import { sharedByCopies } from '../copies.js'
import { show, type TidegateError } from '../errors.js'
import { optionInvalid } from '../options.js'
import { type FailureOptions, parseFailureOptions, withFallback } from '../resilience/index.js'
import { notAStore } from '../store/not-a-store.js'
import type { Store } from '../store/store.js'

/** The store with a deadline, a circuit breaker and a fallback, unless it needs none or `failure` is false. */
export function guardedStore(store: Store, failure: FailureOptions | false | undefined): Store {
  if (typeof store?.check !== 'function') {
    throw optionInvalid('store', notAStore(store))
  }
  // Validated even if not used, so that invalid options are reported before a memory store is replaced by a remote one.
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

/** By the store inside, so that limiters on one store share its circuit breaker. */
const guarded = sharedByCopies('stores with a fallback', () => new WeakMap<Store, Store>())
