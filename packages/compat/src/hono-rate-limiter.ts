import type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
import { createHitStore, type HitStore } from './hit-store.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
export type { HitCount, HitStore, HitStoreSettings } from './hit-store.js'

/**
 * Creates a store for hono-rate-limiter.
 *
 * @example
 * ```ts
 * import { rateLimiter } from 'hono-rate-limiter'
 * import { tidegateStore } from '@tidegate/compat/hono-rate-limiter'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const store = tidegateStore(new RedisStore('redis://localhost:6379'))
 * app.use(rateLimiter({ windowMs: 60_000, limit: 100, keyGenerator, store }))
 * ```
 */
export function tidegateStore(limiterOrStore?: LimiterOrStore, options: TidegateStoreOptions = {}): HitStore {
  return createHitStore(limiterOrStore, options, () => 'open')
}
