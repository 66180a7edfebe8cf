import type { FixedWindowPolicy } from '../policy.js'
import { type Mode, type Outcome, type Refund, toDecision, windowStart } from './algorithm.js'

/*
 * Fixed window. Time is cut into windows of one length, aligned to the Unix epoch. Each key has a count, which starts
 * again with every window. A request is allowed if the count and its cost together are at most the limit.
 *
 * The Lua twin is packages/redis/lua/fixed-window.lua.
 */

export interface FixedWindowState {
  readonly algorithm: 'fixed-window'
  /** The units counted in the window `[start, start + length)`. */
  readonly count: number
  readonly start: number
  readonly length: number
  readonly expiresAt: number
}

export function decide(
  policy: FixedWindowPolicy,
  state: FixedWindowState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<FixedWindowState> {
  const { limit, windowUs } = policy
  let start = state === undefined ? windowStart(now, windowUs) : state.start
  let length = state === undefined ? windowUs : state.length
  let count = state === undefined ? 0 : state.count

  // 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
  //    further, the state was written under another clock and its count moves into the current window.
  const at = start > now && start - now <= windowUs ? start : now
  const moved = start > at
  if (moved) start = windowStart(now, length)

  // 2. State now: the count starts again once its window is over.
  if (at >= start + length) {
    start = windowStart(at, windowUs)
    length = windowUs
    count = 0
  }

  // 3. Decision.
  const room = Math.max(0, limit - count)
  const allowed = cost <= room
  const charged = allowed && mode === 'take'
  const retryAfter = allowed ? 0 : start + length - now
  if (charged) {
    // An unfinished window of another length hands its count over to the current one.
    if (length !== windowUs) {
      start = windowStart(at, windowUs)
      length = windowUs
    }
    count += cost
  }

  // 4. New state.
  const end = start + length
  const next: FixedWindowState | undefined =
    charged || (moved && mode !== 'peek')
      ? { algorithm: 'fixed-window', count, start, length, expiresAt: end }
      : state

  // 5. Waits.
  const remaining = charged ? room - cost : room
  const resetAfter = count === 0 ? 0 : end - now
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter }),
    state: next,
  }
}

/** Gives units back while the window that they were counted in lasts. */
export function refund(
  policy: FixedWindowPolicy,
  state: FixedWindowState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<FixedWindowState> {
  const { count, start, length } = state
  const end = start + length
  const at = start > now && start - now <= policy.windowUs ? start : now
  const counts = at >= start && at < end && decidedAt >= start && decidedAt < end
  const given = counts ? Math.min(cost, count) : 0
  if (given === 0) return { given, state }
  return { given, state: given === count ? undefined : { ...state, count: count - given } }
}
