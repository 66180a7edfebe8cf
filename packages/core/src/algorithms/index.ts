import type { AlgorithmName, RatePolicy } from '../policy/index.js'
import type { Algorithm, Mode, Outcome, Refund } from './algorithm.js'
import * as fixedWindow from './fixed-window.js'
import * as leakyBucket from './leaky-bucket.js'
import * as slidingWindowCounter from './sliding-window-counter.js'
import * as slidingWindowLog from './sliding-window-log.js'
import * as tokenBucket from './token-bucket.js'

/**
 * What a store keeps for one key: plain data that survives JSON. Only the algorithm reads its fields; a store needs
 * `expiresAt`, the time in microseconds from which it may delete the state.
 */
export type KeyState =
  | fixedWindow.FixedWindowState
  | slidingWindowLog.SlidingWindowLogState
  | slidingWindowCounter.SlidingWindowCounterState
  | tokenBucket.TokenBucketState
  | leakyBucket.LeakyBucketState

export { MAX_ROOM } from './algorithm.js'
export { raiseLevel } from './token-bucket.js'

// TypeScript cannot express that `policy.algorithm` picks the algorithm whose policies and states fit.
const ALGORITHMS = {
  'fixed-window': { decide: fixedWindow.decide, refund: fixedWindow.refund },
  'sliding-window-log': { decide: slidingWindowLog.decide, refund: slidingWindowLog.refund },
  'sliding-window-counter': { decide: slidingWindowCounter.decide, refund: slidingWindowCounter.refund },
  'token-bucket': { decide: tokenBucket.decide, refund: tokenBucket.refund },
  'leaky-bucket': { decide: leakyBucket.decide, refund: leakyBucket.refund },
} as unknown as Record<AlgorithmName, Algorithm<RatePolicy, KeyState>>

/**
 * Decides one request: a pure function, with which any store can offer all five algorithms. Pass the state that the
 * last call for this policy name and key returned, undefined for a key without state, and the time in microseconds.
 * Store the returned state if it is not the one that was passed.
 *
 * A state that was written by another algorithm counts as none. The cost must be a whole number from 1 to the policy's
 * limit, or in mode `charge` one that `assertCharge` accepts; a store checks that before.
 */
export function decide(
  policy: RatePolicy,
  state: KeyState | undefined,
  now: number,
  cost: number,
  mode: Mode = 'take',
): Outcome<KeyState> {
  const { decide } = ALGORITHMS[policy.algorithm]
  if (state === undefined || state.algorithm === policy.algorithm)
    return decide(policy, state, now, cost, mode)
  const { decision, state: next } = decide(policy, undefined, now, cost, mode)
  return { decision, state: next ?? state }
}

/** Gives back up to `cost` units of a decision that was made at `decidedAt`. A returned state of undefined: delete it. */
export function refund(
  policy: RatePolicy,
  state: KeyState | undefined,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<KeyState> {
  if (state?.algorithm !== policy.algorithm) return { given: 0, state }
  return ALGORITHMS[policy.algorithm].refund(policy, state, now, decidedAt, cost)
}
