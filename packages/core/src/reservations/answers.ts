import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import type { Policy } from '../policy/index.js'
import type { ReserveResult } from '../store/store.js'
import type { Reserve } from './parse-reservation.js'

/** Turns the decision about the charged units into the decision about the requested units. */
export function withReservation(
  decision: Decision,
  { units }: { units: number },
  id: string,
  reserved: number,
): Decision {
  return { ...decision, cost: units, id, reserved }
}

/** The first decision about an open reservation, for a repeated reserve. */
export function firstAnswer(
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

/** The denial of a reserve that the limit itself would allow, until the first reservation of the key ends. */
export function maxOpenDenial(decision: Decision, retryAfterMs: number): Decision {
  return { ...decision, allowed: false, retryAfterMs, reason: 'max-open' }
}

/** The result of a reserve, from the decisions of its limits. */
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

export function idUsed(id: string): TidegateError {
  return new TidegateError(
    'RESERVATION_ID_USED',
    `The reservation id "${id}" was used before: its reservation has ended, or has other units. Use a new id for each reservation.`,
    { field: 'id' },
  )
}
