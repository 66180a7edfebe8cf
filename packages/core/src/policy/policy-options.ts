import type { CalendarUnit } from '../units/calendar.js'
import type { Duration } from '../units/duration.js'
import type { Rate } from '../units/rate.js'
import type { OnStoreFailure } from './policy.js'

interface CommonOptions {
  /** The name under which the store keeps the counts. Default: generated from the algorithm and the numbers. */
  name?: string
  /** The decision while the store is unavailable: `'open'`, `'closed'` or `'local'`. Default: `'open'`. */
  onStoreFailure?: OnStoreFailure
  /** How many processes share the limit. Divides it for `onStoreFailure: 'local'` and for `lease`. Default: 1. */
  instances?: number
}

/** Options of `lease`: processes lease units of busy keys, and decide without calling the store until they are spent. */
export interface LeaseOptions {
  /** How long leased units can be spent, 1 ms to 60 s, at most the window. Default: `'100ms'`. */
  maxAge?: Duration
  /** The fraction of the limit that all processes together can hold, above 0 and at most 1. Default: 0.05. */
  share?: number
}

interface RateOptions extends CommonOptions {
  /** Blocks a key for this duration when the limit denies it with no units remaining. Default: no block. */
  blockFor?: Duration
}

/** Options of `slidingWindowLog` and `slidingWindowCounter`. */
export interface WindowOptions extends RateOptions {
  /** Units per window, 1 to 1,000,000,000; for a log, 1 to 100,000. Required. */
  limit: number
  /** The length of the window, 1 ms to 366 d, such as `'30s'`, `'1m'`, `'2h'`, `'1d'`, or in milliseconds. Required. */
  window: Duration
  /** Whether denied requests are charged too, so that a client that keeps trying stays denied. Default: false. */
  countDenied?: boolean
  /**
   * Lets processes lease units of busy keys, so that hundreds of checks need one call to the store. `true` means
   * `{ maxAge: '100ms', share: 0.05 }`. All processes must use the same value. Default: false.
   */
  lease?: boolean | LeaseOptions
}

/** Options of `fixedWindow`. */
export interface FixedWindowOptions extends WindowOptions {
  /** Units per window, 1 to 999,999,999,999,999. Required. */
  limit: number
  /** The length of the window, 1 ms to 366 d, or `'day'`, `'week'` (from Monday), `'month'` or `'year'`. Required. */
  window: Duration | CalendarUnit
  /** Where windows begin: aligned to the Unix epoch, or with each key's first request. Default: `'epoch'`. */
  start?: 'epoch' | 'first-request'
  /** The time zone of a calendar window, such as `'Asia/Seoul'`. Default: `'UTC'`. */
  timeZone?: string
}

/** Options of `tokenBucket`. */
export interface TokenBucketOptions extends RateOptions {
  /** The maximum number of tokens, which is the largest burst, 1 to 1,000,000,000. Required. */
  capacity: number
  /** Tokens per second, or `'100/1m'`. Required. */
  refillRate: Rate
  /**
   * Lets processes lease units of busy keys, so that hundreds of checks need one call to the store. `true` means
   * `{ maxAge: '100ms', share: 0.05 }`. All processes must use the same value. Default: false.
   */
  lease?: boolean | LeaseOptions
}

/** Options of `leakyBucket`. */
export interface LeakyBucketOptions extends RateOptions {
  /** The maximum number of units, which is the longest queue, 1 to 1,000,000,000. Required. */
  capacity: number
  /** Units per second, or `'100/1m'`. Required. */
  leakRate: Rate
}

/** Options of `concurrency`. */
export interface ConcurrencyOptions extends CommonOptions {
  /** The maximum number of requests in flight, 1 to 100,000. Required. */
  limit: number
  /** The lifetime of a slot without a renewal, 1 s to 1 d. Default: `'30s'`. */
  ttl?: Duration
}
