import { type KeyState, MAX_ROOM } from '../algorithms/index.js'
import { newestTime } from '../algorithms/log.js'
import type { RatePolicy } from '../policy/index.js'
import {
  limitRoom,
  mark,
  type RecordList,
  type ReservationRecord,
  recordedRoom,
  trackTimes,
} from './record.js'

/** A reservation whose units have just been charged. */
export type NewReservation = Omit<ReservationRecord, 'algorithm' | 'chargedAt' | 'room'>

/** Adds a reservation to the open ones of its key. `state` is the state after the charge. Returns the next state. */
export function addRecord(
  policy: RatePolicy,
  state: KeyState,
  list: RecordList,
  reservation: NewReservation,
): KeyState {
  const { records } = list
  const maxRoom = recordedRoom(policy, state)
  for (let i = 0; i < records.length; i++) records[i] = limitRoom(records[i]!, maxRoom)
  const room =
    policy.algorithm === 'token-bucket' && state.algorithm === 'token-bucket'
      ? policy.full - state.level
      : MAX_ROOM
  const charged = chargedAt(state, reservation.time)
  const added = { ...reservation, algorithm: policy.algorithm, chargedAt: charged, room }
  records.push(added)
  trackTimes(list, added)
  return mark(state)
}

/** The time that a decision made now has recorded for its units. */
function chargedAt(state: KeyState, now: number): number {
  if (state.algorithm === 'sliding-window-log') return newestTime(state)
  return 'start' in state ? Math.max(now, state.start) : now
}
