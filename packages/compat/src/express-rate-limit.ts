import type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
import { createHitStore, type HitStore, type HitStoreSettings } from './hit-store.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
export type { HitCount, HitStore, HitStoreSettings } from './hit-store.js'

/** The options of express-rate-limit that its store uses. */
export type ExpressRateLimitSettings = HitStoreSettings

/**
 * Creates a store for express-rate-limit. While the store is unavailable, `passOnStoreError` decides unless
 * `onStoreFailure` is set.
 *
 * @example
 * ```ts
 * import { rateLimit } from 'express-rate-limit'
 * import { tidegateStore } from '@tidegate/compat/express-rate-limit'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const store = tidegateStore(new RedisStore('redis://localhost:6379'))
 * app.use(rateLimit({ windowMs: 60_000, limit: 100, store }))
 * ```
 */
export function tidegateStore(
  limiterOrStore?: LimiterOrStore,
  options: TidegateStoreOptions = {},
): HitStore<ExpressRateLimitSettings> {
  return createHitStore<ExpressRateLimitSettings>(limiterOrStore, options, ({ passOnStoreError }) =>
    passOnStoreError === true ? 'open' : 'closed',
  )
}
