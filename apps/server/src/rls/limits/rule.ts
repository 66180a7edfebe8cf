import type { FixedWindowPolicy, Policy, TokenBucketPolicy } from '@tidegate/core'

/** A rate limit of a file, or the override of a request. */
export interface Rule {
  /** The path of the rule in its file, such as `shop.user_bob.path`: its name in the metrics. */
  readonly path: string
  /** The name for `replaces` of other rules; empty without one. */
  readonly name: string
  readonly replaces: readonly string[]
  readonly isUnlimited: boolean
  readonly isShadow: boolean
  readonly isQuota: boolean
  /** Whether each combination of values has statistics of its own. */
  readonly hasDetailedMetric: boolean
  readonly limit: number
  /** The number of the unit in messages; 0 for another window. */
  readonly unit: number
  /** Undefined for an unlimited rule, and for a limit of 0 that does not count. */
  readonly counter: Counter | undefined
}

/** How a rule counts. */
export type Counter = FixedCounter | RollingCounter

/**
 * Windows that count past the limit, as the protocol's reference does. `counting` has room for one hit more than the
 * limit: the first hit over the limit is still counted, so that "at the limit" and "over the limit" differ, and all later
 * ones are denied by the store and its denial cache. `exact` is for hits that are taken from several rules or from none.
 */
interface FixedCounter {
  readonly kind: 'fixed'
  readonly counting: FixedWindowPolicy
  /** Undefined for a limit of 0. */
  readonly exact: FixedWindowPolicy | undefined
}

/** Another algorithm: denied hits are not counted. */
interface RollingCounter {
  readonly kind: 'rolling'
  readonly policy: Exclude<Policy, { algorithm: 'concurrency' | 'leaky-bucket' }> | TokenBucketPolicy
}
