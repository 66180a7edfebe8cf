import type { LeakyBucketPolicy } from '../policy/index.js'
import { isCharged, type Mode, type Outcome, type Refund, toDecision } from './algorithm.js'
import { convertLevel } from './bucket-level.js'

/*
 * Leaky bucket. The bucket holds up to `capacity` units, starts empty and drains continuously at `leakRate`. A request
 * pours in `cost` units, or is denied if they do not fit. `delayMs` is the time until everything before the request has
 * drained: requests that wait for this time leave at the leak rate.
 *
 * All numbers are whole, so there are no rounding errors. The rate is a fraction, `n` units per `d` microseconds. The
 * level counts one unit as `d`, so it falls by exactly `n` per microsecond, and a full bucket is `full = capacity * d`.
 * A charge can pour in more than fits: the level is then above `full`, up to 2^53 − 1.
 *
 * The Lua twin is packages/redis/lua/leaky-bucket.lua.
 */

export interface LeakyBucketState {
  readonly algorithm: 'leaky-bucket'
  /** The units in the bucket at `time`, where one unit counts as `unit`. */
  readonly level: number
  readonly unit: number
  readonly time: number
  readonly expiresAt: number
}

export function decide(
  policy: LeakyBucketPolicy,
  state: LeakyBucketState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<LeakyBucketState> {
  const { n, d, full } = policy

  // 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
  //    time to drain the bucket, the state was written under another clock and moves to now.
  const time = state === undefined ? now : state.time
  const at = time > now && time - now <= policy.spanUs ? time : now
  const moved = time > at

  // 2. State now: the level, drained up to this moment.
  let level = state === undefined ? 0 : levelAt(policy, state, at)

  // 3. Decision.
  const allowed = mode === 'charge' || cost <= Math.floor((full - level) / d)
  const charged = isCharged(mode, allowed, false)
  const delay = allowed && mode !== 'charge' && level > 0 ? at - now + Math.ceil(level / n) : 0
  if (charged) level = Math.min(Number.MAX_SAFE_INTEGER, level + cost * d)

  // 4. New state. Computed as a wait from now: a time since the epoch could exceed 2^53 before it is rounded.
  const emptyAfter = at - now + Math.ceil(level / n)
  const next: LeakyBucketState | undefined =
    charged || (moved && mode !== 'peek')
      ? { algorithm: 'leaky-bucket', level, unit: d, time: at, expiresAt: now + emptyAfter }
      : state

  // 5. Waits.
  const remaining = Math.max(0, Math.floor((full - level) / d))
  const retryAfter = allowed ? 0 : at - now + Math.ceil((level - full + cost * d) / n)
  const resetAfter = level === 0 ? 0 : emptyAfter
  const overBy = mode === 'charge' ? Math.max(0, Math.ceil((level - full) / d)) : undefined
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, delay, overBy }),
    state: next,
  }
}

/** Removes units, unless the bucket could have drained completely since `decidedAt`. */
export function refund(
  policy: LeakyBucketPolicy,
  state: LeakyBucketState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<LeakyBucketState> {
  const { n, d, full, spanUs } = policy
  const { time } = state
  const at = time > now && time - now <= spanUs ? time : now
  const isCounted = decidedAt <= at && at - decidedAt < Math.ceil(full / n)
  const before = levelAt(policy, state, at)
  const parts = isCounted ? Math.min(cost * d, before) : 0
  if (parts === 0) return { units: 0, state }

  const level = before - parts
  const expiresAt = at + Math.ceil(level / n)
  const next: LeakyBucketState = { algorithm: 'leaky-bucket', level, unit: d, time: at, expiresAt }
  return { units: parts / d, state: level === 0 ? undefined : next }
}

/** The level at `at` in the policy's unit. A state from another clock (`time` after `at`) has not drained. */
function levelAt(policy: LeakyBucketPolicy, { level, unit, time }: LeakyBucketState, at: number): number {
  const stored = unit === policy.d ? level : convertLevel(policy, level, unit, 'up')
  return Math.max(0, stored - Math.max(0, at - time) * policy.n)
}
