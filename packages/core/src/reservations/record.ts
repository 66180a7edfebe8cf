import { type KeyState, MAX_ROOM } from '../algorithms/index.js'
import type { AlgorithmName, RatePolicy } from '../policy/index.js'

/**
 * An open reservation of a key, as plain data with times in microseconds. A key has a list of records, oldest first.
 *
 * The Lua twin of the functions on records is packages/redis/lua/lib/reservations.lua.
 */
export interface ReservationRecord {
  readonly id: string
  /** The units that were requested. */
  readonly units: number
  /** The units that were charged: the requested ones, at most the limit. */
  readonly reserved: number
  /** The algorithm that charged them. */
  readonly algorithm: AlgorithmName
  /** The time of the decision. */
  readonly time: number
  /** The time recorded for the charged units; later than `time` if the clock had stepped back a little. */
  readonly chargedAt: number
  readonly expiresAt: number
  /**
   * Token bucket: the smallest room above the level since the units were charged, which bounds the units that can be given
   * back. Other algorithms have no such bound: `MAX_ROOM`. 0 if the charged state was lost, so nothing can be given back.
   */
  readonly room: number
  /** `remaining` and `resetAfter` of the first decision, for a repeated reserve. */
  readonly remaining: number
  readonly resetAfter: number
}

/** Whether a reservation is open. If its time is further ahead than its ttl, it is from another clock, and has lapsed. */
function isOpen({ time, expiresAt }: ReservationRecord, now: number): boolean {
  return expiresAt > now && time - now <= expiresAt - time
}

function openRecords(records: readonly ReservationRecord[], now: number): ReservationRecord[] {
  return records.filter((record) => isOpen(record, now))
}

/** The reservations of one key. */
export interface RecordList {
  /** Oldest first. Some of them may have lapsed. */
  records: ReservationRecord[]
  /** From `openFrom` until just before `openBefore`, no record has lapsed. */
  openFrom: number
  openBefore: number
}

export function emptyRecordList(): RecordList {
  return { records: [], openFrom: Number.NEGATIVE_INFINITY, openBefore: Number.POSITIVE_INFINITY }
}

export function dropLapsed(list: RecordList, now: number): void {
  if (now >= list.openFrom && now < list.openBefore) return
  const open = openRecords(list.records, now)
  Object.assign(list, emptyRecordList(), { records: open })
  for (const record of open) trackTimes(list, record)
}

/** Must be called for each record that is added. */
export function trackTimes(list: RecordList, { time, expiresAt }: ReservationRecord): void {
  list.openFrom = Math.max(list.openFrom, time - (expiresAt - time))
  list.openBefore = Math.min(list.openBefore, expiresAt)
}

export function limitRoom(record: ReservationRecord, room: number): ReservationRecord {
  return record.room <= room ? record : { ...record, room }
}

/**
 * Marks a state to which reservations were charged. A new state after a loss has no mark, so nothing is given back to it. A
 * log needs no mark, because its units have their own times.
 */
export function mark(state: KeyState): KeyState {
  return hasMark(state) ? { ...state, room: MAX_ROOM } : state
}

/** The maximum that can be given back to a state of the reservations charged to it; 0 if there are none. */
export function recordedRoom({ algorithm }: RatePolicy, state: KeyState | undefined): number {
  if (state?.algorithm !== algorithm) return 0
  return hasMark(state) ? (state.room ?? 0) : MAX_ROOM
}

type MarkedState = Exclude<KeyState, { algorithm: 'sliding-window-log' | 'leaky-bucket' }>

function hasMark(state: KeyState): state is MarkedState {
  return state.algorithm !== 'sliding-window-log' && state.algorithm !== 'leaky-bucket'
}
