import { createEngine, type LimiterOrStore, parseOptions, type TidegateStoreOptions } from './engine.js'
import { createHits } from './hits.js'
import { policyName, rollingPolicy } from './policies.js'
import { storeKey } from './store-key.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'

/** The one command that koa-ratelimit sends to its `db`. */
export interface RatelimiterDb {
  /** Returns what remained before this request, the time of the reset in seconds since the epoch, and `max`. */
  ratelimiter(
    key: string,
    now: number,
    duration: number,
    max: number,
    peek?: string,
  ): Promise<[remaining: number, reset: number, max: number]>
}

/**
 * A database for koa-ratelimit: `ratelimit({ driver: 'redis', db: tidegateStore(store), duration, max })`. Each request
 * counts for `duration`. The type is that of `db`, whichever the declarations of koa-ratelimit demand.
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
      // The library itself subtracts this request.
      return [Math.max(1, max - Math.max(0, isPeek ? used : used - 1)), reset, max]
    },
  }
  return db as Db
}
