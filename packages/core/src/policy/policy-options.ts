import type { CalendarUnit } from '../units/calendar.js'
import type { Duration } from '../units/duration.js'
import type { Rate } from '../units/rate.js'
import type { OnStoreFailure } from './policy.js'

interface CommonOptions {
  /** The name under which the store keeps the counts. Default: one made of the algorithm and the numbers. */
  name?: string
  /** The decision while the store is unavailable: `'open'`, `'closed'` or `'local'`. Default: `'open'`. */
  onStoreFailure?: OnStoreFailure
  /** How many processes share the limit: each counts (`'local'`) or leases (`lease`) its part of it. Default: 1. */
  instances?: number
}

/** Lets each process lease units of busy keys, and decide without a call to the store until they are spent. */
export interface LeaseOptions {
  /** How long leased units may be spent, 1 ms to 60 s, at most the window. Default: `'100ms'`. */
  maxAge?: Duration
  /** The part of the limit that all processes together may hold, above 0 to 1. Default: 0.05. */
  share?: number
}

interface RateOptions extends CommonOptions {
  /** Blocks a key for this long when this limit denies it with nothing remaining. Default: no block. */
  blockFor?: Duration
}

export interface WindowOptions extends RateOptions {
  /** Units per window, 1 to 1,000,000,000 (a log: to 100,000). Required. */
  limit: number
  /** 1 ms to 366 d: milliseconds, or `'30s'`, `'1m'`, `'2h'`, `'1d'`. Required. */
  window: Duration
  /** Whether denied requests are charged too, so that a client that keeps trying stays denied. Default: false. */
  countDenied?: boolean
  /**
   * Lets processes lease units of busy keys, so that hundreds of checks need one call to the store. `true` means
   * `{ maxAge: '100ms', share: 0.05 }`. Every process must have the same value. Default: false.
   */
  lease?: boolean | LeaseOptions
}

export interface FixedWindowOptions extends WindowOptions {
  /** Units per window, 1 to 999,999,999,999,999. Required. */
  limit: number
  /** 1 ms to 366 d, or the calendar's `'day'`, `'week'` (from Monday), `'month'` or `'year'`. Required. */
  window: Duration | CalendarUnit
  /** Where windows begin: aligned to the Unix epoch, or with each key's first request. Default: `'epoch'`. */
  start?: 'epoch' | 'first-request'
  /** The time zone of a calendar window, such as `'Asia/Seoul'`. Default: `'UTC'`. */
  timeZone?: string
}

export interface TokenBucketOptions extends RateOptions {
  /** The most tokens there can be, 1 to 1,000,000,000: the largest burst. Required. */
  capacity: number
  /** Tokens per second, or `'100/1m'`. Required. */
  refillRate: Rate
  /**
   * Lets processes lease units of busy keys, so that hundreds of checks need one call to the store. `true` means
   * `{ maxAge: '100ms', share: 0.05 }`. Every process must have the same value. Default: false.
   */
  lease?: boolean | LeaseOptions
}

export interface LeakyBucketOptions extends RateOptions {
  /** The most units that fit, 1 to 1,000,000,000: the longest queue. Required. */
  capacity: number
  /** Units per second, or `'100/1m'`. Required. */
  leakRate: Rate
}

export interface ConcurrencyOptions extends CommonOptions {
  /** The most requests in flight, 1 to 100,000. Required. */
  limit: number
  /** How long a slot lives without a renewal, 1 s to 1 d. Default: `'30s'`. */
  ttl?: Duration
}
