import { type OnStoreFailure, randomId, TidegateError, warn } from '@tidegate/core'
import { createEngine, type LimiterOrStore, parseOptions, type TidegateStoreOptions } from './engine.js'
import { createExpiringMap } from './expiring-map.js'
import { createHits, unlessUnavailable } from './hits.js'
import { COUNT_ALL, isPolicyLimit, policyName } from './policies.js'
import { storeKey } from './store-key.js'

/** The options of the library that its store uses. */
export interface HitStoreSettings {
  windowMs: number
  limit?: unknown
  skipFailedRequests?: boolean | undefined
  skipSuccessfulRequests?: boolean | undefined
  /** Only express-rate-limit has this option. */
  passOnStoreError?: boolean | undefined
}

/** The hits of a client in its current window. */
export interface HitCount {
  totalHits: number
  resetTime: Date
}

/** The store interface of express-rate-limit, which hono-rate-limiter uses too. */
export interface HitStore<Settings extends HitStoreSettings = HitStoreSettings> {
  init(settings: Settings): void
  get(key: string): Promise<HitCount | undefined>
  increment(key: string): Promise<HitCount>
  decrement(key: string): Promise<void>
  resetKey(key: string): Promise<void>
  /** Only for in-process stores, because a remote store is shared with other processes. */
  resetAll?: () => Promise<void>
  /** Whether other instances of this store cannot see its keys. */
  readonly localKeys: boolean
  /** Distinguishes the counts of several stores. */
  readonly prefix: string
}

/**
 * Creates a `HitStore`. If the library's limit is a number, denied hits are not counted, and can be answered from the denial
 * cache. If the limit depends on the request, or hits can be taken back, every hit is counted.
 */
export function createHitStore<Settings extends HitStoreSettings>(
  limiterOrStore: LimiterOrStore | undefined,
  options: TidegateStoreOptions,
  failureOptionOf: (settings: Settings) => OnStoreFailure,
): HitStore<Settings> {
  const { name, onStoreFailure } = parseOptions(options, limiterOrStore)
  const engine = createEngine(limiterOrStore)
  const hits = createHits()
  /** The resets of windows whose hits were all taken back, for which the store has no state. */
  const emptyWindows = createExpiringMap<Date>()
  let settings: HitStoreSettings = { windowMs: 60_000 }
  /** Whether the library's options are invalid. */
  let isMisconfigured = false
  const names = namesAfterReset(limiterOrStore)
  /** Stores with the same name share their counts, also after a reset. Stores without a name never do. */
  const shared = name ?? Symbol()

  function limiter() {
    const { limit, windowMs, skipFailedRequests = false, skipSuccessfulRequests = false } = settings
    const isTakenBack = skipFailedRequests || skipSuccessfulRequests
    if (engine.limiter !== undefined && isTakenBack) throw needsStore()
    const countsAll = engine.limiter === undefined && (isTakenBack || !isPolicyLimit(limit))
    return engine.limiterFor({
      limit: countsAll ? COUNT_ALL : (limit as number),
      windowMs,
      name: names.get(shared) ?? name,
      onStoreFailure: onStoreFailure ?? failureOptionOf(settings as Settings),
    })
  }

  async function reset(key: string): Promise<void> {
    emptyWindows.delete(storeKey(key))
    await hits.reset(limiter(), storeKey(key))
  }

  const store: HitStore<Settings> = {
    init(libraryOptions) {
      settings = libraryOptions
      try {
        // Reports invalid options before the first request.
        limiter()
      } catch (error) {
        isMisconfigured = true
        const { code, message } = error as TidegateError
        warn(code, `tidegateStore() cannot count, so every request fails or is denied. ${message}`)
        throw error
      }
    },

    async get(key) {
      const { used, waitMs } = await hits.read(limiter(), storeKey(key))
      if (used > 0) return { totalHits: used, resetTime: timeIn(waitMs) }
      const resetTime = emptyWindows.get(storeKey(key))
      return resetTime && { totalHits: 0, resetTime }
    },

    async increment(key, ...others: unknown[]) {
      // Those of @nestjs/throttler, which would find no isBlocked in the result, and allow every request.
      if (others.length > 0) throw needsStorageOfNest()
      const { windowMs, passOnStoreError = false } = settings
      // The library only logs the error of `init`.
      if (isMisconfigured && failureOptionOf(settings as Settings) === 'open') return deniedHit(windowMs)
      try {
        const { used, waitMs } = await hits.add(limiter(), storeKey(key))
        // Without the store both numbers are unknown. The library needs at least one hit; the window is the maximum wait.
        if (used === 0) return { totalHits: 1, resetTime: timeIn(windowMs) }
        return { totalHits: used, resetTime: timeIn(waitMs) }
      } catch (error) {
        // The library would allow the request, which only `open` may do, and with `open` a check does not fail.
        if (passOnStoreError) return deniedHit(windowMs)
        throw error
      }
    },

    // The library does not await this call, so a rejection would end the process.
    async decrement(key) {
      const { policy, store, peek } = limiter()
      const request = { policy, key: storeKey(key), cost: 1 }
      const { limit, remaining, resetAfterMs, timeMs, degraded } = await peek(request.key)
      if (limit - remaining === 1) emptyWindows.set(request.key, timeIn(resetAfterMs), resetAfterMs)
      await unlessUnavailable(store.refund({ ...request, timeMs, degraded }))
    },

    resetKey: (key) => markHandled(reset(key)),
    localKeys: engine.isInProcess,

    get prefix() {
      return `${limiter().policy.name}:`
    },
  }
  if (engine.isInProcess && engine.limiter === undefined) {
    store.resetAll = async () => {
      names.set(shared, policyName(name ?? 'hits', randomId()))
    }
  }
  return store
}

const namesByStore = new WeakMap<LimiterOrStore, Map<string | symbol, string>>()

/** The names under which counting on a store continues after its keys were reset. */
function namesAfterReset(limiterOrStore: LimiterOrStore | undefined): Map<string | symbol, string> {
  // Without a store, each `HitStore` has its own.
  if (limiterOrStore === undefined || limiterOrStore === null) return new Map()
  const names = namesByStore.get(limiterOrStore) ?? new Map<string | symbol, string>()
  namesByStore.set(limiterOrStore, names)
  return names
}

/** A hit above every limit. */
function deniedHit(windowMs: number): HitCount {
  return { totalHits: COUNT_ALL, resetTime: timeIn(windowMs) }
}

function timeIn(ms: number): Date {
  return new Date(Date.now() + ms)
}

/** Marks rejections as handled, because callers may ignore the promise. Callers that await it still get the error. */
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function needsStorageOfNest(): TidegateError {
  return new TidegateError(
    'OPTION_INVALID',
    "@nestjs/throttler needs its own storage. Write import { tidegateStore } from '@tidegate/compat/nestjs-throttler'.",
    { field: 'storage' },
  )
}

function needsStore(): TidegateError {
  return new TidegateError(
    'OPTION_INVALID',
    'skipFailedRequests and skipSuccessfulRequests need a store, got a limiter. Write tidegateStore(limiter.store), or use the option refundWhen of @tidegate/http.',
    { field: 'store' },
  )
}
