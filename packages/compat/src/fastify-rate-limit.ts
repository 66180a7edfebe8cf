import { TidegateError, warn } from '@tidegate/core'
import {
  createEngine,
  type Engine,
  type LimiterOrStore,
  parseOptions,
  type TidegateStoreOptions,
} from './engine.js'
import { createFastifyHits, type FastifyHit, type FastifyHits } from './fastify-hits.js'
import { COUNT_ALL } from './policies.js'
import { storeKey } from './store-key.js'

export type { LimiterOrStore, TidegateStoreOptions } from './engine.js'
export type { FastifyHit } from './fastify-hits.js'

/** The options of the plugin or of a route that its store uses. */
export interface FastifyRateLimitSettings {
  max?: unknown
  timeWindow?: unknown
  ban?: number | undefined
  continueExceeding?: boolean | undefined
  exponentialBackoff?: boolean | undefined
  skipOnError?: boolean | undefined
  routeInfo?: { method?: unknown; url?: unknown } | undefined
}

type Callback = (error: Error | null, result?: FastifyHit) => void

/** The store of @fastify/rate-limit. */
export interface FastifyRateLimitStore {
  incr(key: string, callback: Callback, timeWindow?: number, max?: number): void
  read(key: string, callback: Callback, timeWindow?: number, max?: number): void
  /** Creates the store of a route. `settings` are `FastifyRateLimitSettings`, but the plugin declares another type. */
  child(settings: object): FastifyRateLimitStore
}

/** The constructor that @fastify/rate-limit expects as option `store`. */
export interface FastifyRateLimitStoreConstructor {
  new (settings: FastifyRateLimitSettings): FastifyRateLimitStore
}

/**
 * Creates a store for @fastify/rate-limit. While the store is unavailable, `skipOnError` decides unless `onStoreFailure` is
 * set.
 *
 * @example
 * ```ts
 * import rateLimit from '@fastify/rate-limit'
 * import { tidegateStore } from '@tidegate/compat/fastify-rate-limit'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const store = tidegateStore(new RedisStore('redis://localhost:6379'))
 * await app.register(rateLimit, { max: 100, timeWindow: '1 minute', store })
 * ```
 */
export function tidegateStore(
  limiterOrStore?: LimiterOrStore,
  options: TidegateStoreOptions = {},
): FastifyRateLimitStoreConstructor {
  const parsed = parseOptions(options, limiterOrStore)
  const engine = createEngine(limiterOrStore)
  const routeName = createRouteNames(engine)
  let isReported = false

  function reportMisconfigured({ code, message }: TidegateError): void {
    if (!isReported) warn(code, `tidegateStore() cannot count, so every request is denied. ${message}`)
    isReported = true
  }

  return class TidegateStore implements FastifyRateLimitStore {
    readonly #hits: FastifyHits
    readonly #route: string
    readonly #skipOnError: boolean

    constructor(settings: FastifyRateLimitSettings, route = '*') {
      this.#hits = createFastifyHits(engine, settings, parsed)
      this.#skipOnError = settings.skipOnError === true
      this.#route = route
    }

    incr(key: string, callback: Callback, timeWindow?: number, max?: number): void {
      this.#answer(() => this.#hits.add(this.#keyOf(key), max, timeWindow), callback)
    }

    read(key: string, callback: Callback, timeWindow?: number, max?: number): void {
      this.#answer(() => this.#hits.read(this.#keyOf(key), max, timeWindow), callback)
    }

    child(settings: FastifyRateLimitSettings): FastifyRateLimitStore {
      return new TidegateStore(settings, routeName(settings))
    }

    #answer(count: () => Promise<FastifyHit>, callback: Callback): void {
      const hit = this.#skipOnError ? denyOnError(count, reportMisconfigured) : count()
      hit.then(
        (hit) => callback(null, hit),
        (error) => callback(error),
      )
    }

    /** A limiter counts a client over all routes. A store counts each route separately. */
    #keyOf(key: string): string {
      return storeKey(engine.limiter === undefined ? `${this.#route} ${key}` : key)
    }
  }
}

/**
 * With `skipOnError`, the plugin allows a request whose count fails. But with `open` a count does not fail, so an error means
 * invalid options or `closed`: the request must be denied.
 */
async function denyOnError(
  count: () => Promise<FastifyHit>,
  reportMisconfigured: (error: TidegateError) => void,
): Promise<FastifyHit> {
  try {
    return await count()
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    if (error.code !== 'STORE_FAILED') reportMisconfigured(error)
    return { current: COUNT_ALL, ttl: 60_000 }
  }
}

/**
 * Names the counts of a route. A limit without a route, such as `fastify.rateLimit(options)`, is numbered in an in-process
 * store. In a remote store it is named by its numbers, because processes may create such limits in a different order.
 */
function createRouteNames(engine: Engine): (settings: FastifyRateLimitSettings) => string {
  let count = 0
  return ({ routeInfo, max, timeWindow }) => {
    if (routeInfo?.url !== undefined) return `${routeInfo.method} ${routeInfo.url}`
    count++
    return engine.isInProcess ? `#${count}` : `#${numberName(max)}/${numberName(timeWindow)}`
  }
}

function numberName(value: unknown): string {
  return typeof value === 'number' ? String(value) : 'any'
}
