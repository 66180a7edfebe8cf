import type { Mode } from '../algorithms/algorithm.js'
import type { KeyState } from '../algorithms/index.js'
import { msToUs, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { RatePolicy } from '../policy/index.js'
import type { ReserveResult, SettleResult } from '../store/full-store.js'
import { addRecord } from './add-record.js'
import type { EndedIds } from './ended-ids.js'
import type { Reserve, ReserveLimit, SettleLimit } from './parse-reservation.js'
import { dropLapsed, type RecordList } from './record.js'
import { firstDecision, idUsed, maxOpenDenial, reserveResult, withReservation } from './reserve-results.js'
import { settleRecord } from './settle-record.js'

/** The reservations of one key. */
export interface KeyReservations extends RecordList {
  readonly ended: EndedIds
}

/** The part of a store in this process that reserving and settling use. */
export interface ReservingStore {
  /** The reservations of a key; adds an entry for the key if there is none. */
  reservationsOf(policy: RatePolicy, key: string, now: number): KeyReservations
  decide(limit: ReserveLimit, now: number, mode: Mode): Decision
  charge(limit: ReserveLimit, now: number): Decision
  load(policy: RatePolicy, key: string, now: number): KeyState | undefined
  /** Undefined: delete the state. */
  save(policy: RatePolicy, key: string, now: number, state: KeyState | undefined): void
}

/** Reserves from every limit or from none. */
export function reserve(store: ReservingStore, request: Reserve, now: number): ReserveResult {
  const peeks = request.limits.map((limit) => peek(store, limit, request, now))
  const allowed = peeks.every((decision) => decision.allowed)
  const decisions = request.limits.map((limit, i) => {
    const peeked = peeks[i]!
    if (peeked.repeated) return peeked
    if (allowed) return charge(store, limit, request, now)
    const decision = store.decide(limit, now, 'repair')
    return peeked.reason === 'max-open' ? peeked : withReservation(decision, limit, request.id, 0)
  })
  return reserveResult(request, decisions)
}

/** The decision on one limit, without changing its state. Throws if the id was used before. */
function peek(store: ReservingStore, limit: ReserveLimit, { id, maxOpen }: Reserve, now: number): Decision {
  const { policy, key, units, cost } = limit
  const { records: open, ended } = openReservations(store, policy, key, now)
  const same = open.find((record) => record.id === id)
  if (same !== undefined && same.units === units && same.reserved === cost) return firstDecision(limit, same)
  if (same !== undefined || ended.has(id, now)) throw idUsed(id)
  const decision = withReservation(store.decide(limit, now, 'peek'), limit, id, 0)
  if (!decision.allowed || open.length < maxOpen) return decision
  const firstEnd = Math.min(...open.map(({ expiresAt }) => expiresAt))
  return maxOpenDenial(decision, usToMs(firstEnd - now))
}

function charge(store: ReservingStore, limit: ReserveLimit, { id, ttlMs }: Reserve, now: number): Decision {
  const { policy, key, units, cost } = limit
  const decision = store.decide(limit, now, 'take')
  const reservations = openReservations(store, policy, key, now)
  const state = addRecord(policy, store.load(policy, key, now)!, reservations, {
    id,
    units,
    reserved: cost,
    time: now,
    expiresAt: now + msToUs(ttlMs),
    remaining: decision.remaining,
    resetAfter: msToUs(decision.resetAfterMs),
  })
  store.save(policy, key, now, state)
  return withReservation(decision, limit, id, cost)
}

/** Ends the reservation of one limit. */
export function settle(
  store: ReservingStore,
  { policy, key, actual }: SettleLimit,
  id: string,
  now: number,
): SettleResult {
  const reservations = openReservations(store, policy, key, now)
  const { records, ended } = reservations
  const before = store.load(policy, key, now)
  const settled = settleRecord(policy, before, records, now, id, actual)
  if (settled === undefined) {
    const reason = ended.has(id, now) ? 'ended' : 'unknown'
    // If the reserve arrives after its settlement, it must take nothing.
    if (reason === 'unknown') ended.add(id, now)
    return { settled: false, reason }
  }
  ended.add(id, now)
  reservations.records = settled.records
  // An unchanged state may belong to another algorithm, and must not be saved with this policy.
  if (settled.state !== before) store.save(policy, key, now, settled.state)
  const { units, excess } = settled
  if (excess === 0) return { settled: true, refunded: units, charged: 0, overBy: 0 }
  const { overBy = 0 } = store.charge({ policy, key, units: excess, cost: excess }, now)
  return { settled: true, refunded: 0, charged: excess, overBy }
}

/** The reservations of a key without those that have lapsed. */
function openReservations(
  store: ReservingStore,
  policy: RatePolicy,
  key: string,
  now: number,
): KeyReservations {
  const reservations = store.reservationsOf(policy, key, now)
  dropLapsed(reservations, now)
  return reservations
}
