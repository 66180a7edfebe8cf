import { type KeyState, raiseLevel, refund } from '../algorithms/index.js'
import type { RatePolicy } from '../policy/index.js'
import { limitRoom, notedRoom, type ReservationRecord } from './record.js'

export interface Settled {
  /** Undefined: delete the state. */
  readonly state: KeyState | undefined
  /** The other open reservations. */
  readonly records: ReservationRecord[]
  /** The units given back. Buckets can give back parts of a unit. */
  readonly given: number
  /** The units used beyond the reserved ones, which the store charges next. */
  readonly excess: number
}

/**
 * Removes one of the open reservations of a key, and ends it with the units that were really used, and gives back the reserved ones that were not. Returns
 * undefined if no reservation with this id is open.
 */
export function settleRecord(
  policy: RatePolicy,
  state: KeyState | undefined,
  open: ReservationRecord[],
  now: number,
  id: string,
  actual: number,
): Settled | undefined {
  const index = open.findIndex((record) => record.id === id)
  if (index < 0) return undefined
  const { reserved } = open[index]!
  const back = actual < reserved ? giveBack(policy, state, open, index, now, reserved - actual) : undefined
  const records = back?.records ?? open
  if (records === open) open.splice(index, 1)
  return { state, given: 0, ...back, records, excess: Math.max(0, actual - reserved) }
}

interface GivenBack {
  state: KeyState | undefined
  records?: ReservationRecord[]
  given: number
}

/** Undefined if nothing can be given back. */
function giveBack(
  policy: RatePolicy,
  state: KeyState | undefined,
  open: readonly ReservationRecord[],
  index: number,
  now: number,
  units: number,
): GivenBack | undefined {
  const { algorithm, room, chargedAt } = open[index]!
  if (room === 0 || algorithm !== policy.algorithm) return undefined
  if (policy.algorithm !== 'token-bucket' || state?.algorithm !== 'token-bucket') {
    return notedRoom(policy, state) > 0 ? refund(policy, state, now, chargedAt, units) : undefined
  }
  const parts = Math.min(units * policy.d, room)
  const { given, noted, state: next } = raiseLevel(policy, state, now, parts, open.length > 1)
  if (given === 0) return { state: next, given }
  return { state: next, records: withRaisedLevel(open, index, noted, given), given: given / policy.d }
}

/**
 * The other reservations of a token bucket. Had fewer tokens been charged for this one, the level would have been higher
 * since then by `given`: the reservations made later have that much less room, and the ones made earlier have at most
 * the room that is left to this one.
 */
function withRaisedLevel(
  open: readonly ReservationRecord[],
  index: number,
  noted: number,
  given: number,
): ReservationRecord[] {
  const left = Math.min(open[index]!.room, noted) - given
  return open.flatMap((record, i) => {
    if (i === index) return []
    return limitRoom(record, i < index ? left : Math.max(0, Math.min(record.room, noted) - given))
  })
}
