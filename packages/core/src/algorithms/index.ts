import type { AlgorithmName, RatePolicy } from '../policy/index.js'
import type { Algorithm, Mode, Outcome, Refund } from './algorithm.js'
import * as fixedWindow from './fixed-window.js'
import * as leakyBucket from './leaky-bucket.js'
import * as slidingWindowCounter from './sliding-window-counter.js'
import * as slidingWindowLog from './sliding-window-log.js'
import * as tokenBucket from './token-bucket.js'

/**
 * The state that a store keeps for one key: plain data that survives JSON. Only the algorithm reads its fields. A store
 * can delete the state from `expiresAt` on, a time in microseconds.
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
 * Decides one request. This pure function lets any store offer all five algorithms: load the state of the policy's name
 * and key (undefined if there is none), call `decide` with the time in microseconds, and save the returned state if it
 * is a different object.
 *
 * A state of another algorithm is ignored. Validate the cost first: with `assertCost`, or with `assertCharge` for mode
 * `charge`.
 *
 * @example
 * ```ts
 * const { decision, state } = decide(policy, states.get(key), Date.now() * 1000, 1)
 * if (state !== undefined) states.set(key, state)
 * ```
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

/**
 * Gives back up to `cost` units of a decision that was made at `decidedAt`, in microseconds. Save the returned state, or
 * delete the stored one if the returned state is undefined.
 */
export function refund(
  policy: RatePolicy,
  state: KeyState | undefined,
  now: number,
  decidedAt: number,
  cost: number,
): Refund<KeyState> {
  if (state?.algorithm !== policy.algorithm) return { units: 0, state }
  return ALGORITHMS[policy.algorithm].refund(policy, state, now, decidedAt, cost)
}
