import type { SlidingWindowLogPolicy } from '../policy/index.js'
import { isCharged, type Mode, type Outcome, type Refund, toDecision } from './algorithm.js'
import {
  append,
  dropUntil,
  firstRun,
  keepNewest,
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
 * `window` plus its cost are at most the limit. The count is exact, and needs memory for up to `limit` times. A charge
 * can add more; the log keeps the newest `2 * limit` units.
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
  //    the log was written under another clock, and is shifted so that its newest unit is now.
  const newest = newestTime(log)
  const at = newest > now && newest - now <= windowUs ? newest : now
  const moved = newest > at
  if (moved) log = { ...log, shift: log.shift + now - newest }

  // 2. State now: the units of the last window.
  log = dropUntil(log, at - windowUs)

  // 3. Decision.
  const allowed = mode === 'charge' || cost <= limit - unitsIn(log)
  const charged = isCharged(mode, allowed, policy.countDenied)
  if (charged) log = keepNewest(append(log, at, Math.min(cost, 2 * limit)), 2 * limit)
  const used = unitsIn(log)

  // 4. New state.
  const emptyAt = newestTime(log) + windowUs
  const next = charged || (moved && mode !== 'peek') ? stateOf(log, emptyAt) : state

  // 5. Waits. The cost fits once the oldest excess units have left the window.
  const remaining = Math.max(0, limit - used)
  const retryAfter = allowed ? 0 : timeOfUnit(log, used + cost - limit) + windowUs - now
  const resetAfter = used > 0 ? emptyAt - now : 0
  const overBy = mode === 'charge' ? Math.max(0, used - limit) : undefined
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, overBy }),
    state: next,
  }
}

/** Gives units back until they expire from the log. */
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
  if (!isLogged) return { units: 0, state }

  const units = Math.min(cost, unitsOf(log, run))
  if (units === unitsIn(log)) return { units, state: undefined }
  const shorterLog = removeUnits(log, run, units)
  return { units, state: stateOf(shorterLog, newestTime(shorterLog) + windowUs) }
}

const EMPTY: Log = { runs: [], head: 0, tail: 0, total: 0, base: 0, shift: 0 }

function stateOf({ runs, head, tail, total, base, shift }: Log, expiresAt: number): SlidingWindowLogState {
  return { algorithm: 'sliding-window-log', runs, head, tail, total, base, shift, expiresAt }
}
