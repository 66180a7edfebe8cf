import {
  type AsyncStore,
  createLimiter,
  type Decision,
  type FullStore,
  fixedWindow,
  leakyBucket,
  MemoryStore,
  type Policy,
  slidingWindowCounter,
  tokenBucket,
} from '@tidegate/core'
import { type ClientRateLimitInfo, MemoryStore as ExpressMemoryStore, type Options } from 'express-rate-limit'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'

/** A rate limiter in memory, as the benchmark uses it. `A` is the result of its check. */
export interface Subject<A = unknown> {
  check(key: string): A | Promise<A>
  isAllowed(result: A): boolean
  /** The units counted for a key, to verify a set-up. */
  used(key: string): number | Promise<number>
  /** The number of keys in the store. */
  size(): number
  /** Undefined if the store has no bound. */
  maxKeys?: number
}

/** Limits are never reached and nothing expires during a run, so that all contenders do the same work. */
const HOUR_MS = 3_600_000
const LIMIT = 1_000_000_000
/** A bucket counts in units of its rate, so its capacity cannot be as large. */
const CAPACITY = 1_000_000

const CONTENDERS = {
  'token bucket': tidegate(tokenBucket({ capacity: CAPACITY, refillRate: '1/1h' })),
  'fixed window': tidegate(fixedWindow({ limit: LIMIT, window: HOUR_MS })),
  'sliding counter': tidegate(slidingWindowCounter({ limit: LIMIT, window: HOUR_MS })),
  'leaky bucket': tidegate(leakyBucket({ capacity: CAPACITY, leakRate: '1/1h' })),
  'leased fixed window': leased(
    fixedWindow({ limit: LIMIT, window: HOUR_MS, name: 'leased', lease: { maxAge: '10s' } }),
  ),
  RateLimiterMemory: rateLimiterFlexible,
  'express MemoryStore': expressRateLimit,
  Map: countInMap,
  'idle loop': idleLoop,
} satisfies Record<string, (maxKeys: number) => Subject>

export type ContenderName = keyof typeof CONTENDERS

/** `maxKeys` applies to contenders with a bound. */
export function makeContender(name: string, maxKeys = 1_000_000): Subject {
  if (!Object.hasOwn(CONTENDERS, name)) throw new Error(`Unknown contender "${name}".`)
  return CONTENDERS[name as ContenderName](maxKeys)
}

function tidegate(policy: Policy) {
  return (maxKeys: number): Subject<Decision> => {
    const store = new MemoryStore({ maxKeys })
    const limiter = createLimiter({ policy, store })
    return {
      check: limiter.check,
      isAllowed: (decision) => decision.allowed,
      used: (key) => policy.limit - limiter.peek(key).remaining,
      size: () => store.size,
      maxKeys,
    }
  }
}

/** Spends leased units of an asynchronous store in this process. */
function leased(policy: Policy) {
  return (maxKeys: number): Subject<Decision> => {
    const memory = new MemoryStore({ maxKeys })
    const remote: AsyncStore & Pick<FullStore, 'takeUpTo'> = {
      traits: { kind: 'guarded' },
      check: async (request) => memory.check(request),
      take: async (requests) => memory.take(requests),
      peek: async (request) => memory.peek(request),
      refund: async (request) => memory.refund(request),
      reset: async (request) => memory.reset(request),
      takeUpTo: async (request) => memory.takeUpTo(request),
      close: () => memory.close(),
    }
    const limiter = createLimiter({ policy, store: remote })
    return {
      check: limiter.check,
      isAllowed: (decision) => decision.allowed,
      used: async (key) => policy.limit - (await limiter.peek(key)).remaining,
      size: () => memory.size,
      maxKeys,
    }
  }
}

function rateLimiterFlexible(): Subject<RateLimiterRes> {
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: HOUR_MS / 1000 })
  return {
    check: (key) => limiter.consume(key),
    // A denied check rejects, so this is always true. It reads the result, as a caller would.
    isAllowed: (result) => result.consumedPoints <= LIMIT,
    used: async (key) => (await limiter.get(key))?.consumedPoints ?? 0,
    size: () => limiter.dump().storage.length,
  }
}

function expressRateLimit(): Subject<ClientRateLimitInfo> {
  const store = new ExpressMemoryStore()
  // The store reads no other option of the middleware.
  store.init({ windowMs: HOUR_MS } as Options)
  return {
    check: (key) => store.increment(key),
    isAllowed: (result) => result.totalHits <= LIMIT,
    used: async (key) => (await store.get(key))?.totalHits ?? 0,
    size: () => store.current.size,
  }
}

/** The minimum work of a check: read the time, get, set, and build a decision like Tidegate's. */
function countInMap(): Subject<Decision> {
  const counts = new Map<string, number>()
  return {
    check(key) {
      const now = Date.now()
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return {
        allowed: count <= LIMIT,
        limit: LIMIT,
        cost: 1,
        remaining: LIMIT - count,
        retryAfterMs: 0,
        resetAfterMs: HOUR_MS - (now % HOUR_MS),
        delayMs: 0,
        timeMs: now,
        policy: 'map',
      }
    },
    isAllowed: (decision) => decision.allowed,
    used: (key) => counts.get(key) ?? 0,
    size: () => counts.size,
  }
}

/** Spins for 5 µs per check. Its pauses come from the machine and are in the figures of every contender. */
function idleLoop(): Subject<boolean> {
  return {
    check() {
      const end = performance.now() + 0.005
      while (performance.now() < end);
      return true
    },
    isAllowed: (result) => result,
    used: () => 0,
    size: () => 0,
  }
}
