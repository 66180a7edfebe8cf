import type { OnStoreFailure } from '../policy/index.js'
import type { BreakerState } from './breaker.js'
import type { DegradedReason } from './fallback.js'

/** An event of a guarded store, for `onEvent` of `FailureOptions`. */
export type FailureEvent =
  /** The store became unavailable, or is available again. */
  | { readonly type: 'store'; readonly isUp: boolean; readonly error?: unknown }
  /** A circuit breaker changed its state. `part` is undefined for a store with a single part. */
  | { readonly type: 'breaker'; readonly state: BreakerState; readonly part: string | undefined }
  /** A call to the store failed. */
  | { readonly type: 'call-failed'; readonly isTimeout: boolean; readonly error: unknown }
  /** A fallback decided, without the store. */
  | { readonly type: 'degraded'; readonly mode: OnStoreFailure; readonly reason: DegradedReason }
  /** Overload began or ended: too many calls wait for a healthy store. */
  | { readonly type: 'overload'; readonly isOverloaded: boolean }
  /** Instability began or ended: the store fails some calls, too few for the circuit breaker to open. */
  | { readonly type: 'unstable'; readonly isUnstable: boolean; readonly error?: unknown }
  /** Starvation began or ended: this process gets too little CPU, or blocks its event loop. */
  | { readonly type: 'starved'; readonly isStarved: boolean; readonly lateMs: number }
