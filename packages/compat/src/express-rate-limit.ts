import type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
import { createHitStore, type HitStore, type HitStoreSettings } from './hit-store.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
export type { HitCount, HitStore, HitStoreSettings } from './hit-store.js'

export type ExpressRateLimitSettings = HitStoreSettings

/**
 * A store for express-rate-limit: `rateLimit({ windowMs, limit, store: tidegateStore(store) })`. If the store is
 * unavailable, `passOnStoreError` decides unless `onStoreFailure` is set.
 */
export function tidegateStore(
  limiterOrStore?: LimiterOrStore,
  options: TidegateStoreOptions = {},
): HitStore<ExpressRateLimitSettings> {
  return createHitStore<ExpressRateLimitSettings>(limiterOrStore, options, ({ passOnStoreError }) =>
    passOnStoreError === true ? 'open' : 'closed',
  )
}
