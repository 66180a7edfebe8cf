import type { Policy, RatePolicy } from '../policy/index.js'
import { type Reservation, reservationOf, settleIfHeld } from '../reservations/handle.js'
import { assertReservable, parseReserve } from '../reservations/parse-reservation.js'
import type { ReserveOptions, ReserveResult, SettleResult } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { isPromise, type MaybePromise, type Store } from '../store/store.js'

/** Creates `reserve`, `settle` and `cancel` of a limiter. */
export function createReserve(store: Store, policy: Policy) {
  function reserve(key: string, units: number, options?: ReserveOptions): MaybePromise<Reservation> {
    assertOperation(store, 'reserve')
    assertReservable(policy)
    const requests = [{ policy, key, cost: units }]
    const { id, ttlMs, maxOpen, limits } = parseReserve(requests, options)
    const read = (result: ReserveResult): Reservation =>
      reservationOf(result.decisions[0]!, limits[0]!, (actual) => {
        const answer = settleIfHeld(result, () => settleLimit(policy, key, id, actual))
        // Asynchronous stores always return promises.
        return isPromise(pending) ? Promise.resolve(answer).then(first) : first(answer as SettleResult[])
      })
    const pending = store.reserve(requests, { id, ttl: ttlMs, maxOpen })
    return isPromise(pending) ? pending.then(read) : read(pending)
  }

  function settleLimit(
    ratePolicy: RatePolicy,
    key: string,
    id: string,
    actual: number,
  ): MaybePromise<SettleResult[]> {
    assertOperation(store, 'settle')
    return store.settle([{ policy: ratePolicy, key }], id, [actual])
  }

  function settle(key: string, id: string, actual: number): MaybePromise<SettleResult> {
    assertReservable(policy)
    const answer = settleLimit(policy, key, id, actual)
    return isPromise(answer) ? answer.then(first) : first(answer)
  }

  return { reserve, settle, cancel: (key: string, id: string) => settle(key, id, 0) }
}

function first([result]: readonly SettleResult[]): SettleResult {
  return result!
}
