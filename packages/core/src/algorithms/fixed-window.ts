import type { FixedWindowPolicy } from '../policy/index.js'
import {
  addCounts,
  isCharged,
  type Mode,
  type Outcome,
  type Refund,
  toDecision,
  windowStart,
} from './algorithm.js'

/*
 * Fixed window. Each key has a count, which restarts at 0 with every window. A request is allowed if the count plus its
 * cost is at most the limit. Windows are aligned to the Unix epoch, begin with the key's first request, or follow a
 * calendar. A window keeps its start and length until it ends, even if the policy changes.
 *
 * The Lua twin is packages/redis/lua/fixed-window.lua.
 */

export interface FixedWindowState {
  readonly algorithm: 'fixed-window'
  /** The units counted in the window `[start, start + length)`. */
  readonly count: number
  readonly start: number
  readonly length: number
  /** Present if reservations were charged to this state: see reservations/record.ts. */
  readonly room?: number | undefined
  readonly expiresAt: number
}

export function decide(
  policy: FixedWindowPolicy,
  state: FixedWindowState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<FixedWindowState> {
  const { limit } = policy
  let { start, length } = state ?? windowAt(policy, now)
  let count = state === undefined ? 0 : state.count

  // 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
  //    further, the state was written under another clock, and its count moves to the current window.
  const at = start > now && start - now <= length ? start : now
  const moved = start > at
  if (moved) ({ start, length } = windowAt(policy, now))

  // 2. State now: the count restarts once its window is over.
  if (at >= start + length) {
    ;({ start, length } = windowAt(policy, at))
    count = 0
  }

  // 3. Decision.
  const allowed = mode === 'charge' || cost <= limit - count
  const charged = isCharged(mode, allowed, policy.countDenied)
  if (charged) count = addCounts(count, cost)

  // 4. New state.
  const end = start + length
  const next: FixedWindowState | undefined =
    charged || (moved && mode !== 'peek')
      ? { algorithm: 'fixed-window', count, start, length, room: state?.room, expiresAt: end }
      : state

  // 5. Waits.
  const remaining = Math.max(0, limit - count)
  const retryAfter = allowed ? 0 : end - now
  const resetAfter = count === 0 ? 0 : end - now
  const overBy = mode === 'charge' ? Math.max(0, count - limit) : undefined
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, overBy }),
    state: next,
  }
}

/** Gives units back until the end of the window that they were counted in. */
export function refund(
  policy: FixedWindowPolicy,
  state: FixedWindowState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<FixedWindowState> {
  const { count, start, length } = state
  const end = start + length
  const at = start > now && start - now <= length ? start : now
  const isCounted = at >= start && at < end && decidedAt >= start && decidedAt < end
  const units = isCounted ? Math.min(cost, count) : 0
  if (units === 0) return { units, state }
  // A window that began with the first request keeps its state: otherwise the next request would begin a new window.
  const isEmpty = units === count && policy.windowKind !== 'first-request'
  return { units, state: isEmpty ? undefined : { ...state, count: count - units } }
}

/** The window of a request at this time. */
function windowAt(policy: FixedWindowPolicy, time: number): { start: number; length: number } {
  const { windowKind, windowUs, calendar } = policy
  if (windowKind === 'epoch') return { start: windowStart(time, windowUs), length: windowUs }
  if (windowKind === 'first-request') return { start: time, length: windowUs }
  const { start, end } = calendar!.windowAt(time)
  return { start, length: end - start }
}
