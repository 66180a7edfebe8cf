import { type Guard, guardCalls, isPromise } from './guard-calls.js'
import type { Store } from './store.js'
import { storeFailed } from './store-failure.js'

export interface InFlightOptions {
  /** The most requests that may wait for an answer at the same time. */
  maxInFlight: number
}

/**
 * The same store, except that it is not asked while too much is in flight: a call then fails at once with
 * `STORE_FAILED`. A flood waits in nobody's memory, and is told from a store that is down by the error's cause.
 *
 * Each request of a take counts. One that comes while there is room goes through whole, however long it is.
 */
export function withInFlightBound(store: Store, { maxInFlight }: InFlightOptions): Store {
  let inFlight = 0
  const tooMany = storeFailed('too-many-in-flight', `${maxInFlight} requests wait for the store already.`)

  const guard: Guard = (call, request) => {
    if (inFlight >= maxInFlight) throw tooMany
    const answer = call(request)
    if (!isPromise(answer)) return answer
    const size = Array.isArray(request) ? request.length : 1
    inFlight += size
    return answer.then(
      (value) => {
        inFlight -= size
        return value
      },
      (error) => {
        inFlight -= size
        throw error
      },
    )
  }
  return guardCalls(store, guard)
}
