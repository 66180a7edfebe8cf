import type { SlidingWindowLogPolicy } from '../policy.js'
import { type Mode, type Outcome, type Refund, toDecision } from './algorithm.js'
import {
  append,
  dropUntil,
  firstRun,
  type Log,
  newestTime,
  removeUnits,
  timeOf,
  timeOfUnit,
  unitsIn,
  unitsOf,
} from './log.js'

/*
 * Sliding window log. Each key has a log with the time of every unit. A request is allowed if the units of the last
 * `window` and its cost together are at most the limit. This is exact, and needs memory for up to `limit` times.
 *
 * The Lua twin is packages/redis/lua/sliding-window-log.lua.
 */

export interface SlidingWindowLogState extends Log {
  readonly algorithm: 'sliding-window-log'
  readonly expiresAt: number
}

export function decide(
  policy: SlidingWindowLogPolicy,
  state: SlidingWindowLogState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<SlidingWindowLogState> {
  const { limit, windowUs } = policy
  let log: Log = state ?? EMPTY

  // 1. Clock: if the clock stepped back by at most a window, decide as of the newest unit. If it stepped back further,
  //    the log was written under another clock and moves as a whole, so that its newest unit is now.
  const newest = newestTime(log)
  const at = newest > now && newest - now <= windowUs ? newest : now
  const moved = newest > at
  if (moved) log = { ...log, shift: log.shift + now - newest }

  // 2. State now: the units of the last window.
  log = dropUntil(log, at - windowUs)
  const used = unitsIn(log)

  // 3. Decision. The cost fits once the oldest units have left that are too many.
  const room = Math.max(0, limit - used)
  const allowed = cost <= room
  const charged = allowed && mode === 'take'
  const retryAfter = allowed ? 0 : timeOfUnit(log, used + cost - limit) + windowUs - now
  if (charged) log = append(log, at, cost)

  // 4. New state.
  const emptyAt = newestTime(log) + windowUs
  const next = charged || (moved && mode !== 'peek') ? stateOf(log, emptyAt) : state

  // 5. Waits.
  const remaining = charged ? room - cost : room
  const resetAfter = charged || used > 0 ? emptyAt - now : 0
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter }),
    state: next,
  }
}

/** Gives units back while they are logged. */
export function refund(
  policy: SlidingWindowLogPolicy,
  state: SlidingWindowLogState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<SlidingWindowLogState> {
  const { windowUs } = policy
  const newest = newestTime(state)
  const at = newest > now && newest - now <= windowUs ? newest : now
  const log = dropUntil(state, at - windowUs)
  const run = firstRun(log, (i) => timeOf(log, i) >= decidedAt)
  const isLogged = run < log.tail && timeOf(log, run) === decidedAt
  if (!isLogged) return { given: 0, state }

  const given = Math.min(cost, unitsOf(log, run))
  if (given === unitsIn(log)) return { given, state: undefined }
  const rest = removeUnits(log, run, given)
  return { given, state: stateOf(rest, newestTime(rest) + windowUs) }
}

const EMPTY: Log = { runs: [], head: 0, tail: 0, total: 0, shift: 0 }

function stateOf({ runs, head, tail, total, shift }: Log, expiresAt: number): SlidingWindowLogState {
  return { algorithm: 'sliding-window-log', runs, head, tail, total, shift, expiresAt }
}
