import { define } from './define.js'
import type {
  ConcurrencyPolicy,
  FixedWindowPolicy,
  LeakyBucketPolicy,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TokenBucketPolicy,
} from './policy.js'
import type {
  ConcurrencyOptions,
  FixedWindowOptions,
  LeakyBucketOptions,
  TokenBucketOptions,
  WindowOptions,
} from './policy-options.js'

/** At most `limit` units in each window. Windows are aligned to the epoch unless `start` or the calendar says otherwise. */
export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  return define('fixed-window', options)
}

/** At most `limit` units in any window, exactly; stores the time of each unit. */
export function slidingWindowLog(options: WindowOptions): SlidingWindowLogPolicy {
  return define('sliding-window-log', options)
}

/** About `limit` units in any window, from two counts. */
export function slidingWindowCounter(options: WindowOptions): SlidingWindowCounterPolicy {
  return define('sliding-window-counter', options)
}

/** A burst of up to `capacity`, then `refillRate`. */
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy {
  return define('token-bucket', options)
}

/** Requests leave at `leakRate`; up to `capacity` wait (`delayMs`), the rest is denied. */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  return define('leaky-bucket', options)
}

/** At most `limit` requests in flight at once. */
export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  return define('concurrency', options)
}
