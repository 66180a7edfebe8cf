import { type JointReservation, jointReservationOf, settleIfHeld } from '../reservations/handle.js'
import { parseReserve, parseSettle } from '../reservations/parse-reservation.js'
import type { ReserveOptions, ReserveResult, SettleResult } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import {
  type Call,
  isPromise,
  type MaybePromise,
  type ResetRequest,
  type Store,
  type TakeRequest,
} from '../store/store.js'
import type { createDenials } from './denials.js'

export interface ReservingOptions {
  denials: ReturnType<typeof createDenials>
  nowUs: () => number
  /** Returns true for reserves whose denials must not be cached. */
  except: (result: ReserveResult) => boolean
}

/**
 * Reservations of a store with a denial cache. A reserve always calls the store, because a repeated id must get its first
 * decision again. A denied reserve is cached like a denied check.
 */
export function createReserving(store: Store, { denials, nowUs, except }: ReservingOptions) {
  function dropAll(requests: readonly ResetRequest[]): void {
    for (const { policy, key } of requests) denials.drop(policy, key)
  }

  function settle(
    requests: readonly ResetRequest[],
    id: string,
    actual: readonly number[],
    call?: Call,
  ): MaybePromise<SettleResult[]> {
    assertOperation(store, 'settle')
    const limits = parseSettle(requests, id, actual)
    dropAll(limits)
    const answer = store.settle(requests, id, actual, call)
    // A check sent in the meantime may have been denied before the units were given back.
    return isPromise(answer) ? Promise.resolve(answer).finally(() => dropAll(limits)) : answer
  }

  function reserve(
    requests: readonly TakeRequest[],
    options?: ReserveOptions,
    call?: Call,
  ): MaybePromise<JointReservation> {
    assertOperation(store, 'reserve')
    const { limits, id, ttlMs, maxOpen } = parseReserve(requests, options)
    const sent = denials.send(nowUs())

    function read(result: ReserveResult): JointReservation {
      if (except(result)) dropAll(limits)
      for (const [i, { policy, key, cost }] of limits.entries()) {
        const answer = result.decisions[i]
        // Undefined if another limit's cached denial denied the reserve.
        if (answer === undefined || answer.repeated || except(result)) continue
        const { id: _, reserved, ...decision } = answer
        denials.learn({ policy, key, cost }, decision, sent)
      }
      return jointReservationOf(result, limits, (actual) => {
        const answer = settleIfHeld(result, () => settle(limits, id, actual))
        // Asynchronous stores always return promises.
        return isPromise(pending) ? Promise.resolve(answer) : answer
      })
    }

    const pending = store.reserve(requests, { id, ttl: ttlMs, maxOpen }, call)
    return isPromise(pending) ? pending.then(read) : read(pending)
  }

  return { reserve, settle }
}
