import type { CalendarUnit, CalendarWindows } from '../units/calendar.js'
import type { Rate } from '../units/rate.js'
import type { LeaseTerms } from './lease-terms.js'

/*
 * A policy is an algorithm, its numbers and a name: a frozen plain object that can be serialized as JSON. Derived values
 * (microseconds, the exact rate) are computed once and kept in properties that are not enumerable.
 */

/** A policy made by `fixedWindow`. */
export interface FixedWindowPolicy extends WindowPolicy<number | CalendarUnit> {
  readonly algorithm: 'fixed-window'
  /** Present if windows begin with a key's first request. */
  readonly start?: 'first-request'
  /** Present for calendar windows. */
  readonly timeZone?: string
  /** Derived: where windows begin. */
  readonly windowKind: 'epoch' | 'first-request' | 'calendar'
  /** Derived: the windows of a calendar window; undefined for other kinds. */
  readonly calendar: CalendarWindows | undefined
}
/** A policy made by `slidingWindowLog`. */
export interface SlidingWindowLogPolicy extends WindowPolicy<number> {
  readonly algorithm: 'sliding-window-log'
}
/** A policy made by `slidingWindowCounter`. */
export interface SlidingWindowCounterPolicy extends WindowPolicy<number> {
  readonly algorithm: 'sliding-window-counter'
}
/** A policy made by `tokenBucket`. */
export interface TokenBucketPolicy extends BucketPolicy {
  readonly algorithm: 'token-bucket'
  readonly refillRate: Rate
}
/** A policy made by `leakyBucket`. */
export interface LeakyBucketPolicy extends BucketPolicy {
  readonly algorithm: 'leaky-bucket'
  readonly leakRate: Rate
}
/** A policy made by `concurrency`. */
export interface ConcurrencyPolicy extends CommonPolicy {
  readonly algorithm: 'concurrency'
  /** Milliseconds. */
  readonly ttl: number
  /** Derived: the ttl in microseconds. */
  readonly ttlUs: number
}

/** A policy that limits a rate, as opposed to a concurrency policy. */
export type RatePolicy =
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | SlidingWindowCounterPolicy
  | TokenBucketPolicy
  | LeakyBucketPolicy

/** A limit, made by a policy factory such as `fixedWindow`, or by `definePolicy`. */
export type Policy = RatePolicy | ConcurrencyPolicy

/** The name of a rate limiting algorithm. */
export type AlgorithmName = RatePolicy['algorithm']

/** How a limiter decides while its store is unavailable: allow, deny, or count in this process. */
export type OnStoreFailure = 'open' | 'closed' | 'local'

interface CommonPolicy {
  readonly name: string
  /**
   * The maximum number of units, or of requests in flight. For a bucket it is derived from `capacity`, and smaller for a
   * token bucket with a lease.
   */
  readonly limit: number
  /** Derived: whether the name was written. False if it was generated from the algorithm and the numbers. */
  readonly isNamed: boolean
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number
  /** How long a denial blocks the key, in milliseconds. Present if it does. */
  readonly blockFor?: number
  /** Derived: `blockFor` in microseconds; 0 without it. */
  readonly blockForUs: number
  /** Present if processes can lease units. */
  readonly lease?: LeaseTerms
  /** Derived: `lease.maxAge` in microseconds; 0 without a lease. */
  readonly leaseUs: number
  /** Whether denied requests are charged too. In JSON only if true. */
  readonly countDenied: boolean
}

interface WindowPolicy<W> extends CommonPolicy {
  /** Milliseconds, or the unit of a calendar window. */
  readonly window: W
  /**
   * Derived: how long units count, in microseconds. For a calendar window, the length of the longest one; for a log with a
   * lease, the window plus `maxAge`.
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
