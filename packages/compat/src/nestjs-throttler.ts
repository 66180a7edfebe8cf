import type { Limiter } from '@tidegate/core'
import { createEngine, type LimiterOrStore, parseOptions, type TidegateStoreOptions } from './engine.js'
import { createHits, type Hit, unlessUnavailable } from './hits.js'
import { isLogLimit, policyName, rollingPolicy, windowPolicy } from './policies.js'
import { storeKey } from './store-key.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'

/** The result that @nestjs/throttler expects of its storage. Times are whole seconds. */
export interface ThrottlerRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/** The storage of @nestjs/throttler. */
export interface ThrottlerStore {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord>
}

/**
 * Creates a storage for @nestjs/throttler. Each hit counts for `ttl`. A hit above the limit blocks the client for
 * `blockDuration` in the same step.
 *
 * @example
 * ```ts
 * import { tidegateStore } from '@tidegate/compat/nestjs-throttler'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const storage = tidegateStore(new RedisStore('redis://localhost:6379'))
 * ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 100 }], storage })
 * ```
 */
export function tidegateStore(
  limiterOrStore?: LimiterOrStore,
  options: TidegateStoreOptions = {},
): ThrottlerStore {
  const { name = 'throttler', onStoreFailure } = parseOptions(options, limiterOrStore)
  const engine = createEngine(limiterOrStore)
  const hits = createHits()

  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      if (engine.limiter !== undefined) {
        const hit = await hits.add(engine.limiterFor({ limit, windowMs: ttl }), storeKey(key))
        return recordOf(hit, hit.waitMs)
      }
      if (!(limit >= 1)) return recordOf({ isDenied: true, used: 1, waitMs: ttl }, blockDuration)
      const endsFirst = blockDuration < ttl
      // The numbers can depend on the request. Algorithms would replace each other's state, so each has its own name.
      const algorithm = endsFirst ? ['window'] : isLogLimit(limit) ? [] : ['counter']
      const numbers = {
        limit: Math.floor(limit),
        windowMs: ttl,
        blockForMs: blockDuration,
        name: policyName(name, throttlerName, ...algorithm),
        onStoreFailure,
      }
      const limiter = engine.limiterFor(numbers, endsFirst ? windowPolicy : rollingPolicy)
      const hit = await hits.add(limiter, storeKey(key))
      // After a block the library starts at zero. The hits outlast a short block, so they are given back during it.
      if (endsFirst && hit.isDenied && hit.waitMs > blockDuration) await giveBack(limiter, storeKey(key), hit)
      return recordOf(hit, endsFirst ? Math.min(hit.waitMs, blockDuration) : hit.waitMs)
    },
  }
}

async function giveBack({ policy, store }: Limiter, key: string, { decision }: Hit): Promise<void> {
  const { timeMs, degraded, limit } = decision
  await unlessUnavailable(store.refund({ policy, key, timeMs, degraded, cost: limit }))
}

function recordOf({ isDenied, used, waitMs }: Omit<Hit, 'decision'>, blockedMs: number): ThrottlerRecord {
  return {
    totalHits: used,
    timeToExpire: Math.ceil(waitMs / 1000),
    isBlocked: isDenied,
    timeToBlockExpire: isDenied ? Math.ceil(blockedMs / 1000) : 0,
  }
}
