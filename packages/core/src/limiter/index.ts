export { createLimiter } from './create-limiter.js'
export type { AsyncLimiter, Limiter, LimiterOptions, SyncLimiter } from './limiter.js'
export type { WaitOptions } from './wait.js'
