import type { ConcurrencyPolicy } from '../policy/index.js'
import { type Mode, type Outcome, toDecision } from './algorithm.js'
import type { KeyState } from './index.js'
import {
  countUntil,
  createSlots,
  cutTo,
  expiryOf,
  nthExpiry,
  put,
  remove,
  removeUntil,
  type Slots,
} from './slots.js'

/*
 * Concurrency. Each key has slots, one for each request in flight. A request is allowed if a slot is free. It holds and
 * renews the slot until it releases it; a slot that is not renewed expires `ttl` after its last renewal.
 *
 * An expiry later than now + ttl was written under another clock or a longer ttl, and counts as now + ttl.
 *
 * The Lua twin is packages/redis/lua/concurrency.lua.
 */

export interface ConcurrencyState {
  readonly algorithm: 'concurrency'
  /** Changed in place, so a state is invalid once a newer one was made from it. */
  readonly slots: Slots
  readonly expiresAt: number
}

/**
 * Acquires the slot `id`. An id that already holds a slot keeps it, so an acquire can be repeated. A state of another
 * algorithm is ignored.
 */
export function decide(
  policy: ConcurrencyPolicy,
  state: ConcurrencyState | KeyState | undefined,
  now: number,
  mode: Mode,
  id = '',
): Outcome<ConcurrencyState | KeyState> {
  const { limit, ttlUs } = policy
  const slots = state?.algorithm === 'concurrency' ? state.slots : createSlots()

  // 1. Clock.
  const latest = now + ttlUs
  const moved = slots.newest !== undefined && slots.newest.expiresAt > latest

  // 2. State now: the slots that have not expired.
  const expired = countUntil(slots, now)
  const used = slots.byId.size - expired
  const isHeld = expiryOf(slots, id) > now

  // 3. Decision. If denied, a slot is free once enough slots have expired to be below the limit.
  const room = Math.max(0, limit - used)
  const allowed = isHeld || room > 0
  const charged = allowed && mode === 'take'
  const retryAfter = allowed ? 0 : Math.min(latest, nthExpiry(slots, slots.byId.size - limit + 1)) - now

  // 4. New state.
  if (charged || (moved && mode !== 'peek')) {
    removeUntil(slots, now)
    cutTo(slots, latest)
    if (charged) put(slots, id, latest)
  }
  const next = charged || (moved && mode !== 'peek') ? stateOf(slots) : state

  // 5. Waits, assuming that no slot is released or renewed.
  const remaining = charged && !isHeld ? room - 1 : room
  const resetAfter = charged ? ttlUs : used > 0 ? Math.min(latest, slots.newest!.expiresAt) - now : 0
  const decision = toDecision(policy, now, 1, { allowed, remaining, retryAfter, resetAfter })
  if (charged) return { decision: { ...decision, id }, state: next }
  return { decision: allowed ? decision : { ...decision, reason: 'slot' }, state: next }
}

export interface SlotChange {
  /** Whether the slot was held: acquired, not released and not expired. */
  readonly held: boolean
  /** The new state; undefined if no slot is left. */
  readonly state: ConcurrencyState | undefined
}

/** Frees a slot. */
export function release(state: ConcurrencyState, now: number, id: string): SlotChange {
  const { slots } = state
  const expiresAt = expiryOf(slots, id)
  if (expiresAt === 0) return { held: false, state }
  remove(slots, id)
  return { held: expiresAt > now, state: slots.newest === undefined ? undefined : stateOf(slots) }
}

/** Sets the expiry of a slot to `ttl` from now. An expired slot is not renewed: another request may have its place. */
export function renew(
  policy: ConcurrencyPolicy,
  state: ConcurrencyState,
  now: number,
  id: string,
): SlotChange {
  const { slots } = state
  if (expiryOf(slots, id) <= now) return { held: false, state }
  cutTo(slots, now + policy.ttlUs)
  put(slots, id, now + policy.ttlUs)
  return { held: true, state: stateOf(slots) }
}

function stateOf(slots: Slots): ConcurrencyState {
  return { algorithm: 'concurrency', slots, expiresAt: slots.newest!.expiresAt }
}
