import type { AlgorithmName, Policy } from '../policy.js'
import type { Algorithm } from './algorithm.js'
import { fixedWindowAlgorithm } from './fixed-window.js'
import { leakyBucketAlgorithm } from './leaky-bucket.js'
import { slidingWindowCounterAlgorithm } from './sliding-window-counter.js'
import { slidingWindowLogAlgorithm } from './sliding-window-log.js'
import { tokenBucketAlgorithm } from './token-bucket.js'

// Each is only ever given policies and states of its own: `policy.algorithm` picks it. TypeScript cannot see that.
const ALGORITHMS = {
  'fixed-window': fixedWindowAlgorithm,
  'sliding-window-log': slidingWindowLogAlgorithm,
  'sliding-window-counter': slidingWindowCounterAlgorithm,
  'token-bucket': tokenBucketAlgorithm,
  'leaky-bucket': leakyBucketAlgorithm,
} as unknown as Record<AlgorithmName, Algorithm<Policy, object>>

export function algorithmOf(policy: Policy): Algorithm<Policy, object> {
  return ALGORITHMS[policy.algorithm]
}
