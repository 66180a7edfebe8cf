import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import type { Policy } from '../policy/index.js'
import type { ReserveResult } from '../store/full-store.js'
import type { Reserve } from './parse-reservation.js'

/** Converts a decision about the charged units to a decision about the requested units. */
export function withReservation(
  decision: Decision,
  { units }: { units: number },
  id: string,
  reserved: number,
): Decision {
  return { ...decision, cost: units, id, reserved }
}

/** The decision for a repeated reserve: the first decision about the open reservation. */
export function firstDecision(
  { policy, units, cost }: { policy: Policy; units: number; cost: number },
  first: { id: string; remaining: number; resetAfter: number; time: number },
): Decision {
  return {
    allowed: true,
    limit: policy.limit,
    cost: units,
    remaining: first.remaining,
    retryAfterMs: 0,
    resetAfterMs: usToMs(first.resetAfter),
    delayMs: 0,
    timeMs: usToMs(first.time),
    policy: policy.name,
    id: first.id,
    reserved: cost,
    repeated: true,
  }
}

/** The denial of a reserve because of too many open reservations, until the first of them ends. */
export function maxOpenDenial(decision: Decision, retryAfterMs: number): Decision {
  return { ...decision, allowed: false, retryAfterMs, reason: 'max-open' }
}

/** Combines the decisions of the limits of a reserve. */
export function reserveResult({ id }: Reserve, decisions: Decision[]): ReserveResult {
  return {
    id,
    allowed: decisions.every(({ allowed }) => allowed),
    decisions,
    retryAfterMs: Math.max(...decisions.map(({ retryAfterMs }) => retryAfterMs)),
    delayMs: 0,
    ...(decisions.every(({ repeated }) => repeated) && { repeated: true as const }),
  }
}

/** Creates the error for a reservation id that was used before. */
export function idUsed(id: string): TidegateError {
  return new TidegateError(
    'RESERVATION_ID_USED',
    `The reservation id "${id}" was used before: its reservation has ended, or has other units. Use a new id for each reservation.`,
    { field: 'id' },
  )
}
