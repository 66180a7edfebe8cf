import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { Policy, RatePolicy } from '../policy/index.js'

/**
 * An algorithm is two pure functions. They read no clock and no store, and do not change their arguments. All numbers
 * are whole; times are microseconds since the Unix epoch.
 *
 * `decide` has the same five steps in every algorithm, and in its Lua twin:
 *
 *   1. clock      the moment to decide for, and whether the state was written under another clock
 *   2. state now  the state at that moment
 *   3. decision   how much room there is; a cost that fits is charged
 *   4. new state  written only if the cost was charged, or if the state was moved from another clock
 *   5. waits      until this cost fits, and until the full limit is available, both after the charge
 *
 * Time never runs backwards for a key. If `now` is before the state's own time by at most one window (buckets: the time
 * to fill), the decision is made as of the state's time. If it is further back, the state was written under another
 * clock, and is moved as a whole so that its own time becomes `now`.
 *
 * A state records its own window length or unit, so that a policy with changed numbers can read it. It switches to the
 * new numbers with its next charge; a fixed window switches when the next window begins.
 *
 * `charge` and `countDenied` can use more than the limit. Sums are capped at 2^53 − 1, so they stay exact.
 */
export interface Algorithm<P extends RatePolicy, S> {
  /**
   * Decides one request. `state` is undefined for a key without state. `cost` is a whole number from 1 to the policy's
   * limit; in mode `charge` it can be larger.
   */
  decide(policy: P, state: S | undefined, now: number, cost: number, mode: Mode): Outcome<S>
  /** Gives back up to `cost` units that were charged at `decidedAt`, if units of that time still count. */
  refund(policy: P, state: S, now: number, decidedAt: number, cost: number): Refund<S>
}

/**
 * - `take`: charge the cost if it fits, or if the policy counts denied requests.
 * - `peek`: change nothing.
 * - `repair`: like `peek`, but move a state from another clock, and charge a denied cost if the policy counts denied
 *   requests. A denied take does this to all its limits.
 * - `charge`: charge the cost whether or not it fits.
 */
export type Mode = 'take' | 'peek' | 'repair' | 'charge'

/** The initial room of a state that a reservation was charged to. */
export const MAX_ROOM = Number.MAX_SAFE_INTEGER

/** Whether a cost is charged in this mode. In mode `charge`, `allowed` is always true. */
export function isCharged(mode: Mode, allowed: boolean, countDenied: boolean): boolean {
  if (mode === 'take') return allowed || countDenied
  return mode === 'charge' || (mode === 'repair' && !allowed && countDenied)
}

/** The sum of two counts, at most 2^53 − 1: a larger one would not be exact. */
export function addCounts(a: number, b: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, a + b)
}

/** The result of a decision. */
export interface Outcome<S> {
  readonly decision: Decision
  /** The new state: the same object as before if nothing changed. */
  readonly state: S | undefined
}

/** The result of a refund. */
export interface Refund<S> {
  /** The number of units given back. Buckets can give back a fraction of a unit. */
  readonly units: number
  /** The new state: the same object as before if no units were given back, undefined if no units are left to count. */
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
