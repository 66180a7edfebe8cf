export { decide, type KeyState, refund } from './algorithms/decide.js'
export { type Clock, ManualClock, systemClock } from './clock.js'
export type { Decision } from './decision.js'
export { type Duration, parseDuration } from './duration.js'
export { assertOptions, ERROR_CODES, type ErrorCode, errorDocs, show, TidegateError } from './errors.js'
export { assertKey } from './key.js'
export { createLimiter, type Limiter, type LimiterOptions, type SyncLimiter } from './limiter.js'
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
export type { Rate } from './rate.js'
export type { BreakerState } from './stores/breaker.js'
export { MemoryStore, type MemoryStoreOptions } from './stores/memory-store.js'
export { type RememberRefusalsOptions, rememberRefusals } from './stores/remember-refusals.js'
export { assertCost, assertRefund, type Limit, type Limits, limitsOf, takeResult } from './stores/requests.js'
export type {
  MaybePromise,
  RefundRequest,
  ResetRequest,
  Store,
  SyncStore,
  TakeRequest,
  TakeResult,
  WholeTakeResult,
} from './stores/store.js'
export { storeClosed } from './stores/store-failure.js'
export {
  type FailureEvent,
  type FailureOptions,
  type SurvivingStore,
  surviveFailures,
} from './stores/survive-failures.js'
