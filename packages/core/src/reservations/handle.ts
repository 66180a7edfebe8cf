import type { Decision } from '../decision.js'
import type { MaybePromise, ReserveResult, SettleResult } from '../store/store.js'
import { isStoreFailure } from '../store/store-error.js'
import { warn } from '../warn.js'
import type { ReserveLimit } from './parse-reservation.js'

// Node.js 20 has this symbol. TypeScript knows it only with the lib `esnext.disposable`, which users may not have.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
}

/** The ways to end a reservation. `R` is the result of a settlement: a promise if the store is remote. */
interface Ending<Actual, R> {
  /** Ends the reservation with the units that were really used. Only the first settle or cancel has an effect. */
  settle(actual: Actual): R
  /** Ends the reservation as if nothing had been used. */
  cancel(): R
  /** Settles at the reserved units, with one warning per process, unless `settle` or `cancel` was called. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The decision about units that were reserved, and the ways to end the reservation. */
export interface Reservation<R extends MaybePromise<SettleResult> = MaybePromise<SettleResult>>
  extends Decision,
    Ending<number, R> {
  readonly id: string
  readonly reserved: number
}

/** The reservation of several limits. */
export interface JointReservation<R extends MaybePromise<SettleResult[]> = MaybePromise<SettleResult[]>>
  extends ReserveResult,
    Ending<readonly number[], R> {}

/** The decision of a reserve of one limit, as its caller gets it. */
export function reservationOf<R extends MaybePromise<SettleResult>>(
  decision: Decision,
  { cost }: ReserveLimit,
  settle: (actual: number) => R,
): Reservation<R> {
  const { allowed, id = '', reserved = 0 } = decision
  return { ...decision, id, reserved, ...endingOf(allowed, reservedOf(decision, cost), 0, settle) }
}

/** The result of a reserve of several limits, as its caller gets it. */
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
 * The units that a reservation holds. A service may know another limit than the policy here, and holds its own number. A
 * degraded reserve says 0 although it may have reached the store, which then holds the cost.
 */
function reservedOf(decision: Decision | undefined, cost: number): number {
  return decision?.reserved || cost
}

/**
 * Settles unless the store has denied the reserve: then its id is still free, and must stay so. A degraded reserve may
 * have reached the store before it failed.
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
    'A reservation went out of scope without settle() or cancel(), so all reserved units count as used. Call settle(actual) with the units that were really used.',
  )
}
