import { type KeyState, MAX_ROOM } from '../algorithms/index.js'
import { newestTime } from '../algorithms/log.js'
import type { RatePolicy } from '../policy/index.js'
import { limitRoom, mark, openRecords, type ReservationRecord, recordedRoom } from './record.js'

/** A reservation whose units have just been charged. */
export type NewReservation = Omit<ReservationRecord, 'algorithm' | 'chargedAt' | 'room'>

/** Adds a reservation to the records of its key. `state` is the state after the charge. */
export function addRecord(
  policy: RatePolicy,
  state: KeyState,
  records: readonly ReservationRecord[],
  reservation: NewReservation,
): { state: KeyState; records: ReservationRecord[] } {
  const { time } = reservation
  const maxRoom = recordedRoom(policy, state)
  const others = openRecords(records, time).map((record) => limitRoom(record, maxRoom))
  const room =
    policy.algorithm === 'token-bucket' && state.algorithm === 'token-bucket'
      ? policy.full - state.level
      : MAX_ROOM
  const added = { ...reservation, algorithm: policy.algorithm, chargedAt: chargedAt(state, time), room }
  return { state: mark(state), records: [...others, added] }
}

/** The time that a decision made now has recorded for its units. */
function chargedAt(state: KeyState, now: number): number {
  if (state.algorithm === 'sliding-window-log') return newestTime(state)
  return 'start' in state ? Math.max(now, state.start) : now
}
