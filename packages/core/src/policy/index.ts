export { assertPolicy } from './assert-policy.js'
export { assertRatePolicy } from './assert-rate-policy.js'
export { ALGORITHM_NAMES, definePolicy } from './define.js'
export {
  concurrency,
  factoryName,
  fixedWindow,
  leakyBucket,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from './factories.js'
export type { LeaseTerms } from './lease-terms.js'
export type {
  AlgorithmName,
  ConcurrencyPolicy,
  FixedWindowPolicy,
  LeakyBucketPolicy,
  OnStoreFailure,
  Policy,
  RatePolicy,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TokenBucketPolicy,
} from './policy.js'
export type {
  ConcurrencyOptions,
  FixedWindowOptions,
  LeakyBucketOptions,
  LeaseOptions,
  TokenBucketOptions,
  WindowOptions,
} from './policy-options.js'
export { sameNumbers, samePace } from './same-numbers.js'
export { suspiciousDuration } from './suspicious.js'
