import type { TokenBucketPolicy } from '../policy.js'
import { type Mode, type Outcome, type Refund, toDecision } from './algorithm.js'
import { convertLevel } from './bucket-level.js'

/*
 * Token bucket. The bucket holds up to `capacity` tokens, starts full and refills continuously at `refillRate`. A request
 * takes `cost` tokens, or is denied if there are fewer. Nothing runs in the background: the state is the level at one
 * moment, and the tokens that came in since then are added when the next request arrives.
 *
 * All numbers are whole, so nothing is lost to rounding. The rate is a fraction, `n` tokens per `d` microseconds. The
 * level counts one token as `d`, so it rises by exactly `n` per microsecond, and a full bucket is `full = capacity * d`.
 *
 * The Lua twin is packages/redis/lua/token-bucket.lua.
 */

export interface TokenBucketState {
  readonly algorithm: 'token-bucket'
  /** The tokens in the bucket at `time`, where one token counts as `unit`. */
  readonly level: number
  readonly unit: number
  readonly time: number
  readonly expiresAt: number
}

export function decide(
  policy: TokenBucketPolicy,
  state: TokenBucketState | undefined,
  now: number,
  cost: number,
  mode: Mode,
): Outcome<TokenBucketState> {
  const { n, d, full } = policy

  // 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
  //    time to fill the bucket, the state was written under another clock and moves to now.
  const time = state === undefined ? now : state.time
  const at = time > now && time - now <= policy.spanUs ? time : now
  const moved = time > at

  // 2. State now: the level, refilled up to this moment.
  let level = state === undefined ? full : levelAt(policy, state, at)

  // 3. Decision.
  const room = Math.floor(level / d)
  const allowed = cost <= room
  const charged = allowed && mode === 'take'
  const retryAfter = allowed ? 0 : at - now + Math.ceil((cost * d - level) / n)
  if (charged) level -= cost * d

  // 4. New state. The wait is counted from now: as a time since the epoch it could pass 2^53 before it is rounded.
  const fullAfter = at - now + Math.ceil((full - level) / n)
  const next: TokenBucketState | undefined =
    charged || (moved && mode !== 'peek')
      ? { algorithm: 'token-bucket', level, unit: d, time: at, expiresAt: now + fullAfter }
      : state

  // 5. Waits.
  const remaining = charged ? room - cost : room
  const resetAfter = level === full ? 0 : fullAfter
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter }),
    state: next,
  }
}

/** Gives tokens back while the bucket could not have refilled completely since `decidedAt`. It never overflows. */
export function refund(
  policy: TokenBucketPolicy,
  state: TokenBucketState,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<TokenBucketState> {
  const { n, d, full, spanUs } = policy
  const { time } = state
  const at = time > now && time - now <= spanUs ? time : now
  const counts = decidedAt <= at && at - decidedAt < Math.ceil(full / n)
  const before = levelAt(policy, state, at)
  const given = counts ? Math.min(cost * d, full - before) : 0
  if (given === 0) return { given: 0, state }

  const level = before + given
  const expiresAt = at + Math.ceil((full - level) / n)
  const next: TokenBucketState = { algorithm: 'token-bucket', level, unit: d, time: at, expiresAt }
  return { given: given / d, state: level === full ? undefined : next }
}

/** The level at `at` in the policy's unit. A state from another clock (`time` after `at`) gained nothing. */
function levelAt(policy: TokenBucketPolicy, { level, unit, time }: TokenBucketState, at: number): number {
  const stored = unit === policy.d ? level : convertLevel(policy, level, unit, 'down')
  return Math.min(policy.full, stored + Math.max(0, at - time) * policy.n)
}
