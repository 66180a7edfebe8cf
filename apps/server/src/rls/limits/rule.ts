import type { FixedWindowPolicy, Policy, TokenBucketPolicy } from '@tidegate/core'

/** A rate limit of a file, or an override in a request. */
export interface DescriptorRule {
  /** The path of the rule in its file, such as `shop.user_bob.path`. It is the name in the metrics. */
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
 * Windows that count past the limit, like the reference service. `counting` has room for one hit more than the limit: the
 * first hit over the limit is still counted, which distinguishes "at the limit" from "over the limit", and the store and its
 * denial cache deny later hits. `exact` is for hits that are taken from several rules or from none.
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
