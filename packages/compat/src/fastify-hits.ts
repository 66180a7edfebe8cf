import { type Limiter, TidegateError } from '@tidegate/core'
import type { Engine, TidegateStoreOptions } from './engine.js'
import { createHits, unlessUnavailable } from './hits.js'
import { COUNT_ALL, isPolicyLimit, MAX_DURATION_MS } from './policies.js'

/** The result that @fastify/rate-limit expects of its store. */
export interface FastifyHit {
  /** The number of hits so far. */
  current: number
  /** The time until the reset, in milliseconds. */
  ttl: number
}

/** The options of @fastify/rate-limit for clients above their limit. */
export interface ExceedingSettings {
  ban?: number | undefined
  continueExceeding?: boolean | undefined
  exponentialBackoff?: boolean | undefined
  skipOnError?: boolean | undefined
}

export type FastifyHits = ReturnType<typeof createFastifyHits>

/**
 * Counts the hits of one plugin or route. Without these options, denied hits are not counted, so they can be answered from
 * the denial cache. A ban counts every hit. With `continueExceeding` and `exponentialBackoff`, the first hit above the limit
 * blocks the client in the same step, and each further hit prolongs the block.
 */
export function createFastifyHits(
  engine: Engine,
  { ban = -1, continueExceeding = false, exponentialBackoff = false, skipOnError = false }: ExceedingSettings,
  { name = 'fastify-rate-limit', onStoreFailure }: TidegateStoreOptions,
) {
  const blocks = continueExceeding || exponentialBackoff
  if (blocks && engine.limiter !== undefined) throw needsStore()
  const hits = createHits()
  const onFailure = onStoreFailure ?? (skipOnError ? 'open' : 'closed')

  function limiterFor(max: number, windowMs: number): Limiter {
    const countsAll = engine.limiter === undefined && ((ban >= 0 && !blocks) || !isPolicyLimit(max))
    return engine.limiterFor({
      limit: countsAll ? COUNT_ALL : max,
      windowMs,
      name,
      onStoreFailure: onFailure,
      blockForMs: blocks ? windowMs : undefined,
    })
  }

  /** Counts the hits above the limit, over the windows that a block spans. */
  function exceedingLimiter(windowMs: number): Limiter {
    return engine.limiterFor({
      limit: COUNT_ALL,
      windowMs: Math.min(MAX_DURATION_MS, Math.max(DAY_MS, 16 * windowMs)),
      name: `${name}-exceeded`,
      onStoreFailure: onFailure,
    })
  }

  async function addExceeding(
    limiter: Limiter,
    key: string,
    max: number,
    windowMs: number,
  ): Promise<FastifyHit> {
    const { used } = await hits.add(exceedingLimiter(windowMs), key)
    const count = Math.max(1, used)
    const ttl = continueExceeding ? windowMs : Math.min(windowMs * 2 ** (count - 1), Number.MAX_SAFE_INTEGER)
    // The first hit above the limit was blocked by its denial.
    if (count > 1) await unlessUnavailable(limiter.block(key, Math.min(Math.ceil(ttl), MAX_DURATION_MS)))
    return { current: max + count, ttl }
  }

  return {
    async add(key: string, max = DEFAULT_MAX, windowMs = DEFAULT_WINDOW_MS): Promise<FastifyHit> {
      const limiter = limiterFor(max, windowMs)
      const { isDenied, used, waitMs } = await hits.add(limiter, key)
      if (blocks && isDenied) return addExceeding(limiter, key, max, windowMs)
      // A new window resets the hits above the limit.
      if (blocks && used === 1) await unlessUnavailable(hits.reset(exceedingLimiter(windowMs), key))
      return { current: used, ttl: longWait(waitMs, windowMs) }
    },

    async read(key: string, max = DEFAULT_MAX, windowMs = DEFAULT_WINDOW_MS): Promise<FastifyHit> {
      const { used, waitMs } = await hits.read(limiterFor(max, windowMs), key)
      if (blocks && used > max) {
        const exceeding = await hits.read(exceedingLimiter(windowMs), key)
        return { current: max + Math.max(1, exceeding.used), ttl: longWait(waitMs, windowMs) }
      }
      return { current: used, ttl: longWait(waitMs, windowMs) }
    },
  }
}

const DAY_MS = 86_400_000
/** The plugin passes both numbers; these are its own defaults. */
const DEFAULT_MAX = 1000
const DEFAULT_WINDOW_MS = 60_000

/** A window above 366 days is announced as it was configured. */
function longWait(waitMs: number, windowMs: number): number {
  return waitMs > 0 && windowMs > MAX_DURATION_MS ? windowMs : waitMs
}

function needsStore(): TidegateError {
  return new TidegateError(
    'OPTION_INVALID',
    "continueExceeding and exponentialBackoff need a store, got a limiter. Write tidegateStore(limiter.store), or set blockFor in the limiter's policy.",
    { field: 'store' },
  )
}
