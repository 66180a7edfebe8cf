import type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
import { createHitStore, type HitStore } from './hit-store.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
export type { HitCount, HitStore, HitStoreSettings } from './hit-store.js'

/** A store for hono-rate-limiter: `rateLimiter({ windowMs, limit, keyGenerator, store: tidegateStore(store) })`. */
export function tidegateStore(limiterOrStore?: LimiterOrStore, options: TidegateStoreOptions = {}): HitStore {
  return createHitStore(limiterOrStore, options, () => 'open')
}
