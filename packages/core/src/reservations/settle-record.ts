import { type KeyState, raiseLevel, refund } from '../algorithms/index.js'
import type { RatePolicy } from '../policy/index.js'
import { limitRoom, type ReservationRecord, recordedRoom } from './record.js'

export interface SettledRecord {
  /** The new state; undefined if it is to be deleted. */
  readonly state: KeyState | undefined
  /** The other open reservations. */
  readonly records: ReservationRecord[]
  /** The number of units given back. Buckets can give back a fraction of a unit. */
  readonly units: number
  /** The units used beyond the reserved ones, which the store charges next. */
  readonly excess: number
}

/**
 * Removes an open reservation, and ends it with its actual units, giving back the unused ones. Returns undefined if no
 * reservation with this id is open.
 */
export function settleRecord(
  policy: RatePolicy,
  state: KeyState | undefined,
  open: ReservationRecord[],
  now: number,
  id: string,
  actual: number,
): SettledRecord | undefined {
  const index = open.findIndex((record) => record.id === id)
  if (index < 0) return undefined
  const { reserved } = open[index]!
  const refunded =
    actual < reserved ? giveBack(policy, state, open, index, now, reserved - actual) : undefined
  const records = refunded?.records ?? open
  if (records === open) open.splice(index, 1)
  return { state, units: 0, ...refunded, records, excess: Math.max(0, actual - reserved) }
}

interface SettleRefund {
  state: KeyState | undefined
  records?: ReservationRecord[]
  units: number
}

/** Returns undefined if no units can be given back. */
function giveBack(
  policy: RatePolicy,
  state: KeyState | undefined,
  open: readonly ReservationRecord[],
  index: number,
  now: number,
  units: number,
): SettleRefund | undefined {
  const { algorithm, room, chargedAt } = open[index]!
  if (room === 0 || algorithm !== policy.algorithm) return undefined
  if (policy.algorithm !== 'token-bucket' || state?.algorithm !== 'token-bucket') {
    return recordedRoom(policy, state) > 0 ? refund(policy, state, now, chargedAt, units) : undefined
  }
  const maxParts = Math.min(units * policy.d, room)
  const { parts, smallestRoom, state: next } = raiseLevel(policy, state, now, maxParts, open.length > 1)
  if (parts === 0) return { state: next, units: 0 }
  return { state: next, records: withRaisedLevel(open, index, smallestRoom, parts), units: parts / policy.d }
}

/**
 * The other reservations of a token bucket, after this one gave back `parts`. With fewer tokens charged for it, the level
 * would have been higher by `parts` since then. So reservations made later have that much less room, and earlier ones
 * have at most the remaining room of this one.
 */
function withRaisedLevel(
  open: readonly ReservationRecord[],
  index: number,
  smallestRoom: number,
  parts: number,
): ReservationRecord[] {
  const remainingRoom = Math.min(open[index]!.room, smallestRoom) - parts
  return open.flatMap((record, i) => {
    if (i === index) return []
    if (i < index) return limitRoom(record, remainingRoom)
    return limitRoom(record, Math.max(0, Math.min(record.room, smallestRoom) - parts))
  })
}
