import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { Policy, RatePolicy } from '../policy/index.js'

/**
 * An algorithm is two pure functions. They read no clock and no store, and change none of their arguments. All numbers
 * are whole; times are microseconds since the Unix epoch.
 *
 * `decide` has the same five steps in every algorithm, and in its Lua twin:
 *
 *   1. clock      the moment to decide for, and whether the state was written under another clock
 *   2. state now  the state as it is at that moment
 *   3. decision   how much room there is; a cost that fits is charged
 *   4. new state  written only if the cost was charged, or if the state was moved from another clock
 *   5. waits      until this cost fits, and until the full limit is available, both after the charge
 *
 * Time never runs backwards for a key. If `now` is before the state's own time by at most one window (buckets: the time
 * to fill), the decision is made as of the state's time. If it is further back, the state was written under another
 * clock, and is moved as a whole so that its own time becomes `now`.
 *
 * A state records what it was counted in (the length of its window, the unit of its level), so that a policy with
 * changed numbers can read it. It switches to the new numbers when it is next charged; a fixed window is finished first.
 *
 * `charge` and `countDenied` can use more than the limit. Sums stay exact: they stop at 2^53 − 1.
 */
export interface Algorithm<P extends RatePolicy, S> {
  /**
   * `state` is undefined for a key without state. `cost` is a whole number from 1 to the policy's limit; to charge, it may
   * be larger.
   */
  decide(policy: P, state: S | undefined, now: number, cost: number, mode: Mode): Outcome<S>
  /** Gives back up to `cost` units that were charged at `decidedAt`, if that moment still counts. */
  refund(policy: P, state: S, now: number, decidedAt: number, cost: number): Refund<S>
}

/**
 * - `take`: charge the cost if it fits, or if the policy counts denied requests.
 * - `peek`: change nothing.
 * - `repair`: charge nothing that fits, but move a state from another clock. A denied take does this to all its limits.
 * - `charge`: charge the cost whether or not it fits.
 */
export type Mode = 'take' | 'peek' | 'repair' | 'charge'

/** The room of a state to which a reservation was charged, before anything has reduced it. */
export const MAX_ROOM = Number.MAX_SAFE_INTEGER

/** Whether the cost is charged. A charge counts as allowed. */
export function isCharged(mode: Mode, allowed: boolean, countDenied: boolean): boolean {
  if (mode === 'take') return allowed || countDenied
  return mode === 'charge' || (mode === 'repair' && !allowed && countDenied)
}

/** The sum of two counts, at most 2^53 − 1: a larger one would not be exact. */
export function addCounts(a: number, b: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, a + b)
}

export interface Outcome<S> {
  readonly decision: Decision
  /** The state from now on: the same object as before if nothing changed. */
  readonly state: S | undefined
}

export interface Refund<S> {
  /** How many units were given back. Buckets can give back parts of a unit. */
  readonly given: number
  /** The state from now on: the same object as before if nothing was given, undefined if nothing is left to count. */
  readonly state: S | undefined
}

/** The start of the window that contains `time`. Windows are aligned to the Unix epoch. */
export function windowStart(time: number, length: number): number {
  return Math.floor(time / length) * length
}

/** Builds a decision from the results of an algorithm, in microseconds. `overBy` is set only for a charge. */
export function toDecision(
  policy: Policy,
  now: number,
  cost: number,
  result: {
    allowed: boolean
    remaining: number
    retryAfter: number
    resetAfter: number
    delay?: number
    overBy?: number | undefined
  },
): Decision {
  const decision = {
    allowed: result.allowed,
    limit: policy.limit,
    cost,
    remaining: result.remaining,
    retryAfterMs: usToMs(result.retryAfter),
    resetAfterMs: usToMs(result.resetAfter),
    delayMs: usToMs(result.delay ?? 0),
    timeMs: usToMs(now),
    policy: policy.name,
  }
  return result.overBy === undefined ? decision : { ...decision, charged: cost, overBy: result.overBy }
}
