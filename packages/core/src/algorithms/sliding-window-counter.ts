import type { SlidingWindowCounterPolicy } from '../policy/index.js'
import { mulDivCeil, mulDivFloor } from '../units/exact.js'
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
 * Sliding window counter. Each key has the counts of two aligned windows, the current and the previous one. The units
 * of the last `window` are estimated: all of the current count, plus the previous count times the fraction of its window
 * that the last `window` still overlaps. A request is allowed if the estimate plus its cost is at most the limit.
 *
 * The Lua twin is packages/redis/lua/sliding-window-counter.lua.
 */

export interface SlidingWindowCounterState {
  readonly algorithm: 'sliding-window-counter'
  /** The units counted in the window `[start, start + length)`. */
  readonly curr: number
  /** The units counted in the window before it. */
  readonly prev: number
  readonly start: number
  readonly length: number
  /** Present if reservations were charged to this state: see reservations/record.ts. */
  readonly room?: number | undefined
  readonly expiresAt: number
}

export function decide(
  policy: SlidingWindowCounterPolicy,
  state: SlidingWindowCounterState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<SlidingWindowCounterState> {
  const { limit, windowUs } = policy
  let start = state === undefined ? windowStart(now, windowUs) : state.start
  let length = state === undefined ? windowUs : state.length
  let prev = state === undefined ? 0 : state.prev
  let curr = state === undefined ? 0 : state.curr

  // 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
  //    further, the state was written under another clock, and both counts move to the current window.
  const at = start > now && start - now <= windowUs ? start : now
  const moved = start > at
  if (moved) {
    start = windowStart(now, length)
    curr = addCounts(curr, prev)
    prev = 0
  }

  // 2. State now: shift the counts to the current window, and estimate the used units.
  if (at >= start + 2 * length) {
    start = windowStart(at, windowUs)
    length = windowUs
    prev = 0
    curr = 0
  } else if (at >= start + length) {
    start += length
    prev = curr
    curr = 0
  }
  let used = prev === 0 ? curr : addCounts(curr, mulDivFloor(prev, start + length - at, length))

  // 3. Decision.
  const allowed = mode === 'charge' || cost <= limit - used
  const charged = isCharged(mode, allowed, policy.countDenied)
  let room = state?.room
  if (charged && length !== windowUs) {
    // The counts belong to windows of another length: their estimate becomes the current count. Its units can no longer
    // be attributed to reservations, so none are given back.
    start = windowStart(at, windowUs)
    length = windowUs
    prev = 0
    curr = used
    room = undefined
  }
  if (charged) {
    curr = addCounts(curr, cost)
    used = addCounts(used, cost)
  }

  // 4. New state.
  const next: SlidingWindowCounterState | undefined =
    charged || (moved && mode !== 'peek')
      ? {
          algorithm: 'sliding-window-counter',
          curr,
          prev,
          start,
          length,
          room,
          expiresAt: start + 2 * length,
        }
      : state

  // 5. Waits.
  const remaining = Math.max(0, limit - used)
  const retryAfter = allowed ? 0 : timeOfUse(limit - cost, start, length, prev, curr) - now
  const resetAfter = used > 0 ? timeOfUse(0, start, length, prev, curr) - now : 0
  const overBy = mode === 'charge' ? Math.max(0, used - limit) : undefined
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, overBy }),
    state: next,
  }
}

/** Gives units back to the window that they were counted in, if it is the current or the previous one. */
export function refund(
  policy: SlidingWindowCounterPolicy,
  state: SlidingWindowCounterState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<SlidingWindowCounterState> {
  const { start, length, prev, curr } = state
  const at = start > now && start - now <= policy.windowUs ? start : now
  const inCurr = decidedAt >= start && decidedAt < start + length && at >= start && at < start + 2 * length
  const inPrev = decidedAt >= start - length && decidedAt < start && at >= start && at < start + length
  const count = inCurr ? curr : inPrev ? prev : 0
  const units = Math.min(cost, count)
  if (units === 0) return { units, state }
  if (units === curr + prev) return { units, state: undefined }
  return { units, state: inCurr ? { ...state, curr: curr - units } : { ...state, prev: prev - units } }
}

/** The first time at which at most `units` count as used. More must be used now. */
function timeOfUse(units: number, start: number, length: number, prev: number, curr: number): number {
  // A count contributes at most `units` once less than (units + 1) / count of its window still overlaps.
  if (curr <= units) return start + length - mulDivCeil(units - curr + 1, length, prev) + 1
  return start + 2 * length - mulDivCeil(units + 1, length, curr) + 1
}
