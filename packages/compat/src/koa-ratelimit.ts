import { createEngine, type LimiterOrStore, parseOptions, type TidegateStoreOptions } from './engine.js'
import { createHits } from './hits.js'
import { policyName, rollingPolicy } from './policies.js'
import { storeKey } from './store-key.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'

/** The `db` of koa-ratelimit. */
export interface RatelimiterDb {
  /** Returns the remaining requests before this one, the reset in Unix seconds, and `max`. */
  ratelimiter(
    key: string,
    now: number,
    duration: number,
    max: number,
    peek?: string,
  ): Promise<[remaining: number, reset: number, max: number]>
}

/**
 * Creates a `db` for koa-ratelimit. Each request counts for `duration`. The return type is inferred from the declarations of
 * koa-ratelimit.
 *
 * @example
 * ```ts
 * import ratelimit from 'koa-ratelimit'
 * import { tidegateStore } from '@tidegate/compat/koa-ratelimit'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const db = tidegateStore(new RedisStore('redis://localhost:6379'))
 * app.use(ratelimit({ driver: 'redis', db, duration: 60_000, max: 100 }))
 * ```
 */
export function tidegateStore<Db = RatelimiterDb>(
  limiterOrStore?: LimiterOrStore,
  options: TidegateStoreOptions = {},
): Db {
  const { name = 'koa-ratelimit', onStoreFailure } = parseOptions(options, limiterOrStore)
  const engine = createEngine(limiterOrStore)
  const hits = createHits()

  const db: RatelimiterDb = {
    async ratelimiter(key, _now, duration, max, peek) {
      const numbers = {
        limit: max,
        windowMs: duration,
        name: policyName(name, max, duration),
        onStoreFailure,
      }
      const limiter = engine.limiterFor(numbers, rollingPolicy)
      const isPeek = peek === '1'
      const { isDenied, used, waitMs } = await hits[isPeek ? 'read' : 'add'](limiter, storeKey(key))
      const reset = Math.floor((Date.now() + waitMs) / 1000)
      if (isDenied) return [0, reset, max]
      // The library subtracts this request itself.
      return [Math.max(1, max - Math.max(0, isPeek ? used : used - 1)), reset, max]
    },
  }
  return db as Db
}
