import type { BreakerLabel, DegradedMode } from './counters.js'
import type { Instance } from './instances.js'

/** One event of `/api/v1/admin/live`, sent every second. The dashboard imports these types. */
export interface LiveEvent {
  readonly timeMs: number
  /** Length of the period that the rates cover; 0 in the first event, whose rates are 0. */
  readonly seconds: number
  /** Number of processes of this instance whose counters are added up. */
  readonly processes: number
  readonly policies: readonly PolicyRates[]
  /** All policies together. */
  readonly total: Rates
  /** Check latency in milliseconds; null if there was no check. */
  readonly checkMs: { readonly p50: number; readonly p99: number } | null
  readonly state: 'well' | 'degraded' | 'store-down'
  /** The state as a sentence. */
  readonly message: string
  readonly degraded: { readonly perSecond: number; readonly totals: Readonly<Record<DegradedMode, number>> }
  readonly store: {
    readonly kind: string
    readonly isUp: boolean
    readonly latencyMs: number
    readonly errors: number
  }
  readonly breaker: BreakerLabel
  /** The id of the instance that sends the event. */
  readonly instance: string
  readonly instances: readonly Instance[]
  /** Keys with the most checks in the last minute. */
  readonly busiest: readonly KeyCount[]
  /** Keys with the most denials in the last minute. */
  readonly denied: readonly KeyCount[]
}

export interface PolicyRates extends Rates {
  readonly name: string
  readonly algorithm: string
  readonly onStoreFailure: DegradedMode
}

interface Rates {
  /** Per second. */
  readonly allowed: number
  readonly denied: number
  readonly allowedTotal: number
  readonly deniedTotal: number
}

export interface KeyCount {
  readonly policy: string
  readonly key: string
  /** An upper bound; the true count is at most `error` lower. */
  readonly count: number
  readonly error: number
  /** Whether `key` is a hash, because the policy has `keys: secret`. */
  readonly isHashed: boolean
}
