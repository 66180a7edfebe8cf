export { decide, type KeyState, refund } from './algorithms/index.js'
export { type Clock, ManualClock, systemClock } from './clock.js'
export type { Decision } from './decision.js'
export { type DenialCacheOptions, withDenialCache } from './denial-cache/index.js'
export { assertOptions, ERROR_CODES, type ErrorCode, errorDocs, show, TidegateError } from './errors.js'
export { assertKey } from './key.js'
export {
  type AsyncLimiter,
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type SyncLimiter,
} from './limiter.js'
export { MemoryStore, type MemoryStoreOptions } from './memory-store/memory-store.js'
export {
  ALGORITHM_NAMES,
  type AlgorithmName,
  assertPolicy,
  definePolicy,
  type FixedWindowPolicy,
  fixedWindow,
  type LeakyBucketOptions,
  type LeakyBucketPolicy,
  leakyBucket,
  type OnStoreFailure,
  type Policy,
  type SlidingWindowCounterPolicy,
  type SlidingWindowLogPolicy,
  slidingWindowCounter,
  slidingWindowLog,
  type TokenBucketOptions,
  type TokenBucketPolicy,
  tokenBucket,
  type WindowOptions,
} from './policy.js'
export type { BreakerState } from './resilience/breaker.js'
export { type EventLoopTime, eventLoopTime } from './resilience/event-loop-time.js'
export type { FailureEvent } from './resilience/events.js'
export {
  type FailureOptions,
  type ResilientStore,
  withFallback,
} from './resilience/index.js'
export { assertCost, assertRefund, type Limit, type Limits, limitsOf, takeResult } from './store/requests.js'
export type {
  AsyncStore,
  Call,
  MaybePromise,
  RefundRequest,
  ResetRequest,
  Store,
  StoreTraits,
  SyncStore,
  TakeRequest,
  TakeResult,
  WholeTakeResult,
} from './store/store.js'
export { type FailureCause, storeClosed, storeFailed } from './store/store-error.js'
export { type Duration, parseDuration } from './units/duration.js'
export type { Rate } from './units/rate.js'
export { claimName } from './unnamed-policies.js'
