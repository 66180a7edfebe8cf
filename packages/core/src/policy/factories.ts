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

/**
 * Allows at most `limit` units in each window. Windows are aligned to the Unix epoch by default; they can also begin with
 * a key's first request, or follow the calendar.
 *
 * @example
 * ```ts
 * const perMinute = fixedWindow({ limit: 100, window: '1m' })
 * const perDay = fixedWindow({ limit: 10_000, window: 'day', timeZone: 'Asia/Seoul' })
 * ```
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  return define('fixed-window', options)
}

/**
 * Allows at most `limit` units in any interval of `window`, exactly. Stores the time of each unit, so the limit is at most
 * 100,000.
 *
 * @example
 * ```ts
 * const policy = slidingWindowLog({ limit: 5, window: '15m', name: 'login' })
 * ```
 */
export function slidingWindowLog(options: WindowOptions): SlidingWindowLogPolicy {
  return define('sliding-window-log', options)
}

/**
 * Allows about `limit` units in any interval of `window`, estimated from the counts of two windows. Needs far less memory
 * than a log.
 *
 * @example
 * ```ts
 * const policy = slidingWindowCounter({ limit: 1000, window: '1h' })
 * ```
 */
export function slidingWindowCounter(options: WindowOptions): SlidingWindowCounterPolicy {
  return define('sliding-window-counter', options)
}

/**
 * Allows a burst of up to `capacity` units, and `refillRate` on average.
 *
 * @example
 * ```ts
 * const policy = tokenBucket({ capacity: 100, refillRate: '50/1s' })
 * ```
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy {
  return define('token-bucket', options)
}

/**
 * Spaces requests at `leakRate`: hold an allowed request for `delayMs` of its decision. Up to `capacity` units wait;
 * further requests are denied.
 *
 * @example
 * ```ts
 * const policy = leakyBucket({ capacity: 20, leakRate: '5/1s' })
 * ```
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  return define('leaky-bucket', options)
}

/**
 * Allows at most `limit` requests in flight. Use it with `limiter.acquire`, which holds a slot until it is released.
 *
 * @example
 * ```ts
 * const limiter = createLimiter({ policy: concurrency({ limit: 10, name: 'reports' }) })
 * await using slot = await limiter.acquire('user:123')
 * ```
 */
export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  return define('concurrency', options)
}

/** The name of the function that makes policies of an algorithm: `tokenBucket` for `token-bucket`. */
export function factoryName(algorithm: string): string {
  return algorithm.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
