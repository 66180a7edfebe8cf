import type { TokenBucketPolicy } from '../policy/index.js'
import { isCharged, MAX_ROOM, type Mode, type Outcome, type Refund, toDecision } from './algorithm.js'
import { convertLevel } from './bucket-level.js'

/*
 * Token bucket. The bucket holds up to `capacity` tokens, starts full and refills continuously at `refillRate`. A request
 * takes `cost` tokens, or is denied if there are fewer. There is no background timer: the state is the level at one
 * moment, and the next request adds the tokens refilled since then.
 *
 * All numbers are whole, so there are no rounding errors. The rate is a fraction, `n` tokens per `d` microseconds. The
 * level counts one token as `d`, so it rises by exactly `n` per microsecond, and a full bucket is `full = capacity * d`.
 * A charge can take more tokens than the bucket holds: the level is then negative, down to `full − (2^53 − 1)`.
 *
 * The Lua twin is packages/redis/lua/token-bucket.lua.
 */

export interface TokenBucketState {
  readonly algorithm: 'token-bucket'
  /** The tokens in the bucket at `time`, where one token counts as `unit`. */
  readonly level: number
  readonly unit: number
  readonly time: number
  /**
   * The smallest room above the level since a reservation was last made or given back, in the same unit. Present only
   * if reservations were made. 0 after a change of the unit, so that nothing is given back.
   */
  readonly room?: number | undefined
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
  const room = state?.room === undefined ? undefined : roomAt(policy, state, level)

  // 3. Decision.
  const allowed = mode === 'charge' || cost <= Math.floor(level / d)
  const charged = isCharged(mode, allowed, false)
  if (charged) level = Math.max(full - Number.MAX_SAFE_INTEGER, level - cost * d)

  // 4. New state. Computed as a wait from now: a time since the epoch could exceed 2^53 before it is rounded.
  const fullAfter = at - now + Math.ceil((full - level) / n)
  const next: TokenBucketState | undefined =
    charged || (moved && mode !== 'peek')
      ? { algorithm: 'token-bucket', level, unit: d, time: at, room, expiresAt: now + fullAfter }
      : state

  // 5. Waits.
  const remaining = Math.max(0, Math.floor(level / d))
  const retryAfter = allowed ? 0 : at - now + Math.ceil((cost * d - level) / n)
  const resetAfter = level === full ? 0 : fullAfter
  const overBy = mode === 'charge' ? Math.max(0, Math.ceil(-level / d)) : undefined
  return {
    decision: toDecision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, overBy }),
    state: next,
  }
}

/** Gives tokens back, up to the capacity, unless the bucket could have refilled completely since `decidedAt`. */
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
  const isCounted = decidedAt <= at && at - decidedAt < Math.ceil(full / n)
  const before = levelAt(policy, state, at)
  const parts = isCounted ? Math.min(cost * d, full - before) : 0
  if (parts === 0) return { units: 0, state }

  const level = before + parts
  const expiresAt = at + Math.ceil((full - level) / n)
  const room = state.room === undefined ? undefined : roomAt(policy, state, level)
  const next: TokenBucketState = { algorithm: 'token-bucket', level, unit: d, time: at, room, expiresAt }
  return { units: parts / d, state: level === full ? undefined : next }
}

/**
 * Gives back part of a reservation: raises the level by up to `maxParts` of the unit, but not by more than the smallest
 * room so far. Returns the raise and that room. After a raise, the smallest room is tracked again from the new level.
 */
export function raiseLevel(
  policy: TokenBucketPolicy,
  state: TokenBucketState,
  now: number,
  maxParts: number,
  areOthersOpen: boolean,
): { parts: number; smallestRoom: number; state: TokenBucketState | undefined } {
  const { n, d, full, spanUs } = policy
  const at = state.time > now && state.time - now <= spanUs ? state.time : now
  const before = levelAt(policy, state, at)
  const smallestRoom = roomAt(policy, state, before)
  const parts = Math.min(maxParts, smallestRoom)
  const level = before + parts
  const room = !areOthersOpen ? undefined : parts > 0 ? MAX_ROOM : smallestRoom
  const expiresAt = at + Math.ceil((full - level) / n)
  const next: TokenBucketState = { algorithm: 'token-bucket', level, unit: d, time: at, room, expiresAt }
  return { parts, smallestRoom, state: level === full ? undefined : next }
}

/** The level at `at` in the policy's unit. A state from another clock (`time` after `at`) has not refilled. */
function levelAt(policy: TokenBucketPolicy, { level, unit, time }: TokenBucketState, at: number): number {
  let stored = unit === policy.d ? level : convertLevel(policy, level, unit, 'down')
  if (stored < 0) stored = Math.max(policy.full - Number.MAX_SAFE_INTEGER, stored)
  return Math.min(policy.full, stored + Math.max(0, at - time) * policy.n)
}

/** The smallest room so far, including the room above this level. */
function roomAt({ d, full }: TokenBucketPolicy, { room, unit }: TokenBucketState, level: number): number {
  return unit === d ? Math.min(room ?? 0, full - level) : 0
}
