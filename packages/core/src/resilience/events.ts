import type { OnStoreFailure } from '../policy/index.js'
import type { BreakerState } from './breaker.js'
import type { DegradedReason } from './fallback.js'

export type FailureEvent =
  /** The store became unavailable, or is available again. */
  | { readonly type: 'store'; readonly isUp: boolean; readonly error?: unknown }
  /** A circuit breaker changed; `part` is undefined for a store of one part. */
  | { readonly type: 'breaker'; readonly state: BreakerState; readonly part: string | undefined }
  /** The store failed a call. */
  | { readonly type: 'call-failed'; readonly isTimeout: boolean; readonly error: unknown }
  /** A decision was made without the store. */
  | { readonly type: 'degraded'; readonly mode: OnStoreFailure; readonly reason: DegradedReason }
  /** Too many calls wait for a healthy store, or no longer. */
  | { readonly type: 'overload'; readonly isOverloaded: boolean }
  /** This process gets too little CPU or blocks its event loop, or no longer. */
  | { readonly type: 'starved'; readonly isStarved: boolean; readonly lateMs: number }
