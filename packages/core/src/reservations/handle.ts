import type { Decision } from '../decision.js'
import type { ReserveResult, SettleResult } from '../store/full-store.js'
import type { MaybePromise } from '../store/store.js'
import { isStoreFailure } from '../store/store-error.js'
import { warn } from '../warn.js'
import type { ReserveLimit } from './parse-reservation.js'

// Node.js 20 has this symbol, but TypeScript declares it only with the lib `esnext.disposable`, which users may not use.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
}

/** The methods that end a reservation. `R` is the result of a settlement: a promise if the store is remote. */
interface Ending<Actual, R> {
  /** Ends the reservation with the actual units. Only the first call of `settle` or `cancel` has an effect. */
  settle(actual: Actual): R
  /** Ends the reservation and gives all its units back. */
  cancel(): R
  /** Settles at the reserved units, unless `settle` or `cancel` was called. Prints one warning per process. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The decision about a reservation, with the methods that end it. */
export interface Reservation<R extends MaybePromise<SettleResult> = MaybePromise<SettleResult>>
  extends Decision,
    Ending<number, R> {
  readonly id: string
  readonly reserved: number
}

/** The result of reserving units of several limits, with the methods that end the reservation. */
export interface JointReservation<R extends MaybePromise<SettleResult[]> = MaybePromise<SettleResult[]>>
  extends ReserveResult,
    Ending<readonly number[], R> {}

/** Adds the methods of a reservation to the decision of one limit. */
export function reservationOf<R extends MaybePromise<SettleResult>>(
  decision: Decision,
  { cost }: ReserveLimit,
  settle: (actual: number) => R,
): Reservation<R> {
  const { allowed, id = '', reserved = 0 } = decision
  return { ...decision, id, reserved, ...endingOf(allowed, reservedOf(decision, cost), 0, settle) }
}

/** Adds the methods of a reservation to the result of several limits. */
export function jointReservationOf<R extends MaybePromise<SettleResult[]>>(
  result: ReserveResult,
  limits: readonly ReserveLimit[],
  settle: (actual: readonly number[]) => R,
): JointReservation<R> {
  const reserved = limits.map(({ cost }, i) => reservedOf(result.decisions[i], cost))
  const none = limits.map(() => 0)
  return { ...result, ...endingOf(result.allowed, reserved, none, settle) }
}

/**
 * The units that a reservation holds: `reserved`, because a service can have another limit than the policy here. For a
 * degraded reserve `reserved` is 0, but the store may have executed it, and then holds the cost.
 */
function reservedOf(decision: Decision | undefined, cost: number): number {
  return decision?.reserved || cost
}

/**
 * Settles a reservation that the store may hold: an allowed one, or a degraded one, which the store may have executed. The
 * id of a denied reserve is still free, so it must not be settled.
 */
export function settleIfHeld<R>({ allowed, decisions }: ReserveResult, settle: () => R): R | SettleResult[] {
  if (allowed || decisions.some((decision) => decision?.degraded !== undefined)) return settle()
  return decisions.map(() => ({ settled: false, reason: 'unknown' }))
}

function endingOf<Actual, R extends MaybePromise<SettleResult | SettleResult[]>>(
  isAllowed: boolean,
  reserved: Actual,
  none: Actual,
  settle: (actual: Actual) => R,
): Ending<Actual, R> {
  let hasEnded = false
  function end(actual: Actual): R {
    hasEnded = true
    return settle(actual)
  }
  return {
    settle: end,
    cancel: () => end(none),
    async [Symbol.asyncDispose]() {
      if (hasEnded || !isAllowed) return
      try {
        const results = [await end(reserved)].flat()
        if (results.some(({ settled }) => settled)) warnOfUnsettled()
      } catch (error) {
        // The units stay charged, as they would after this settlement.
        if (!isStoreFailure(error)) throw error
      }
    },
  }
}

let hasWarned = false

function warnOfUnsettled(): void {
  if (hasWarned) return
  hasWarned = true
  warn(
    'RESERVATION_UNSETTLED',
    'A reservation went out of scope without settle() or cancel(), so all reserved units count as used. Call settle(actual) with the actual number of units, or cancel().',
  )
}
