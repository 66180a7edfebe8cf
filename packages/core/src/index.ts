export { decide, type KeyState, refund } from './algorithms/index.js'
export { type Clock, ManualClock, systemClock } from './clock.js'
export type { Decision } from './decision.js'
export { type DenialCacheOptions, type DenialCachingStore, withDenialCache } from './denial-cache/index.js'
export {
  assertOptions,
  ERROR_CODES,
  type ErrorCode,
  errorDocs,
  redactUrl,
  show,
  showKeys,
  TidegateError,
  unknownName,
} from './errors.js'
export { assertKey } from './key.js'
export type { LeaseCounts } from './leases/held-leases.js'
export { type LeasesOptions, type LeasingStore, withLeases } from './leases/index.js'
export {
  type AsyncLimiter,
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type SyncLimiter,
  type WaitOptions,
} from './limiter/index.js'
export type { AbortSignalLike } from './limiter/on-abort.js'
export { MemoryStore } from './memory-store/memory-store.js'
export type { MemoryStoreOptions } from './memory-store/memory-store-options.js'
export { nearestWords } from './nearest-words.js'
export { type NumberRange, numberOption, optionInvalid } from './options.js'
export {
  ALGORITHM_NAMES,
  type AlgorithmName,
  assertPolicy,
  assertRatePolicy,
  type ConcurrencyOptions,
  type ConcurrencyPolicy,
  concurrency,
  definePolicy,
  type FixedWindowOptions,
  type FixedWindowPolicy,
  factoryName,
  fixedWindow,
  type LeakyBucketOptions,
  type LeakyBucketPolicy,
  type LeaseOptions,
  type LeaseTerms,
  leakyBucket,
  type OnStoreFailure,
  type Policy,
  type RatePolicy,
  type SlidingWindowCounterPolicy,
  type SlidingWindowLogPolicy,
  slidingWindowCounter,
  slidingWindowLog,
  suspiciousDuration,
  type TokenBucketOptions,
  type TokenBucketPolicy,
  tokenBucket,
  type WindowOptions,
} from './policy/index.js'
export {
  type JointReservation,
  jointReservationOf,
  type Reservation,
  settleIfHeld,
} from './reservations/handle.js'
export {
  parseReserve,
  parseSettle,
  type Reserve,
  type ReserveLimit,
} from './reservations/parse-reservation.js'
export {
  firstDecision,
  idUsed,
  maxOpenDenial,
  reserveResult,
  withReservation,
} from './reservations/reserve-results.js'
export type { BreakerState } from './resilience/breaker.js'
export { type EventLoopTime, eventLoopTime } from './resilience/event-loop-time.js'
export type { FailureEvent } from './resilience/events.js'
export {
  type FailureOptions,
  type ResilientStore,
  withFallback,
} from './resilience/index.js'
export { type HeldTake, type Slot, takeAndHold } from './slots/acquire.js'
export type { HeldSlots } from './slots/held-slots.js'
export type {
  BlockRequest,
  FullStore,
  ReserveOptions,
  ReserveResult,
  SettleResult,
  SlotRequest,
  TakeUpToRequest,
  TakeUpToResult,
} from './store/full-store.js'
export { randomId } from './store/random-id.js'
export {
  assertBlock,
  assertCharge,
  assertCost,
  assertRefund,
  assertSlot,
  assertSlotId,
  assertTakeUpTo,
  type Limit,
  type Limits,
  limitsOf,
  takeResult,
} from './store/requests.js'
export { retryOnFailure } from './store/retry-on-failure.js'
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
export { warn } from './warn.js'
