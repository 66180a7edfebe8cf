import type { CalendarUnit, CalendarWindows } from '../units/calendar.js'
import type { Rate } from '../units/rate.js'
import type { LeaseTerms } from './lease-terms.js'

/*
 * A policy is an algorithm and its numbers, with a name: a frozen plain object that JSON can carry. Values that are
 * derived from the numbers (microseconds, the exact rate) are computed once, by `definePolicy`, and kept in properties
 * that JSON does not see.
 */

export interface FixedWindowPolicy extends WindowPolicy<number | CalendarUnit> {
  readonly algorithm: 'fixed-window'
  /** Present if windows begin with a key's first request. */
  readonly start?: 'first-request'
  /** Present for calendar windows. */
  readonly timeZone?: string
  /** Derived: where windows begin. */
  readonly windowKind: 'epoch' | 'first-request' | 'calendar'
  /** Derived: the windows of a calendar window, undefined for other kinds. */
  readonly calendar: CalendarWindows | undefined
}
export interface SlidingWindowLogPolicy extends WindowPolicy<number> {
  readonly algorithm: 'sliding-window-log'
}
export interface SlidingWindowCounterPolicy extends WindowPolicy<number> {
  readonly algorithm: 'sliding-window-counter'
}
export interface TokenBucketPolicy extends BucketPolicy {
  readonly algorithm: 'token-bucket'
  readonly refillRate: Rate
}
export interface LeakyBucketPolicy extends BucketPolicy {
  readonly algorithm: 'leaky-bucket'
  readonly leakRate: Rate
}
export interface ConcurrencyPolicy extends CommonPolicy {
  readonly algorithm: 'concurrency'
  /** Milliseconds. */
  readonly ttl: number
  /** Derived: the ttl in microseconds. */
  readonly ttlUs: number
}

/** A policy that counts units per time. */
export type RatePolicy =
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | SlidingWindowCounterPolicy
  | TokenBucketPolicy
  | LeakyBucketPolicy

export type Policy = RatePolicy | ConcurrencyPolicy

/** The algorithms of rate policies. */
export type AlgorithmName = RatePolicy['algorithm']

/** How a limiter decides while its store is unavailable: allow, deny, or count in this process. */
export type OnStoreFailure = 'open' | 'closed' | 'local'

interface CommonPolicy {
  readonly name: string
  /**
   * The most units, or requests in flight. A bucket calls it `capacity`; there it is derived, and smaller than the
   * capacity for a token bucket with a lease.
   */
  readonly limit: number
  /** Derived: false if the name is the generated one, which is made of the algorithm and the numbers. */
  readonly isNamed: boolean
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number
  /** Milliseconds; present if a denial blocks the key. */
  readonly blockFor?: number
  /** Derived: the same in microseconds, 0 for none. */
  readonly blockForUs: number
  /** Present if processes may lease units. */
  readonly lease?: LeaseTerms
  /** Derived: how long leased units may be spent, in microseconds; 0 without a lease. */
  readonly leaseUs: number
  /** Whether denied requests are charged too. JSON shows it only if they are. */
  readonly countDenied: boolean
}

interface WindowPolicy<W> extends CommonPolicy {
  /** Milliseconds, or the unit of a calendar window. */
  readonly window: W
  /**
   * Derived: for how many microseconds units count. The window, the nominal length of the longest for a calendar window,
   * and for a log with a lease the window and `maxAge`.
   */
  readonly windowUs: number
}

interface BucketPolicy extends CommonPolicy {
  readonly capacity: number
  /** Derived: the rate is `n` units per `d` microseconds, reduced; a level counts one unit as `d`. */
  readonly n: number
  readonly d: number
  /** Derived: the level of a full bucket, `limit × d`. */
  readonly full: number
  /** Derived: the whole microseconds in which a bucket fills or drains. */
  readonly spanUs: number
}
