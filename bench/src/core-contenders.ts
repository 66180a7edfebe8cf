import {
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  MemoryStore,
  type Policy,
  slidingWindowCounter,
  tokenBucket,
} from '@tidegate/core'
import { type ClientRateLimitInfo, MemoryStore as ExpressMemoryStore, type Options } from 'express-rate-limit'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'

/** A rate limiter as the benchmarks see it. `A` is what its check comes to. */
export interface Subject<A = unknown> {
  check(key: string): A | Promise<A>
  isAllowed(answer: A): boolean
  /** The units counted for a key, by which a set-up is checked. */
  used(key: string): number | Promise<number>
  /** How many keys it holds. */
  size(): number
  /** The most keys it can hold; absent if it grows without end. */
  maxKeys?: number
}

/** Nothing is ever refused, and nothing expires while it is measured: all have the same work to do. */
const HOUR_MS = 3_600_000
const LIMIT = 1_000_000_000
/** A bucket counts in units of its rate, so that it cannot be as large. */
const CAPACITY = 1_000_000

const CONTENDERS = {
  'token bucket': tidegate(tokenBucket({ capacity: CAPACITY, refillRate: '1/1h' })),
  'fixed window': tidegate(fixedWindow({ limit: LIMIT, window: HOUR_MS })),
  'sliding counter': tidegate(slidingWindowCounter({ limit: LIMIT, window: HOUR_MS })),
  'leaky bucket': tidegate(leakyBucket({ capacity: CAPACITY, leakRate: '1/1h' })),
  RateLimiterMemory: rateLimiterFlexible,
  'express MemoryStore': expressRateLimit,
  'bare Map': bareMap,
  nothing,
} satisfies Record<string, (maxKeys: number) => Subject>

export type ContenderName = keyof typeof CONTENDERS

/** `maxKeys` is for those who have a bound. */
export function makeContender(name: string, maxKeys = 1_000_000): Subject {
  if (!Object.hasOwn(CONTENDERS, name)) throw new Error(`There is no contender "${name}".`)
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

function rateLimiterFlexible(): Subject<RateLimiterRes> {
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: HOUR_MS / 1000 })
  return {
    // What is refused rejects, so that whatever resolves is allowed; reading it is what a caller does.
    check: (key) => limiter.consume(key),
    isAllowed: (answer) => answer.consumedPoints <= LIMIT,
    used: async (key) => (await limiter.get(key))?.consumedPoints ?? 0,
    size: () => limiter.dump().storage.length,
  }
}

function expressRateLimit(): Subject<ClientRateLimitInfo> {
  const store = new ExpressMemoryStore()
  // It reads nothing else of the middleware's options.
  store.init({ windowMs: HOUR_MS } as Options)
  return {
    check: (key) => store.increment(key),
    isAllowed: (answer) => answer.totalHits <= LIMIT,
    used: async (key) => (await store.get(key))?.totalHits ?? 0,
    size: () => store.current.size,
  }
}

/** The least that a check can be: the time, a get, a write, and the same decision as ours. */
function bareMap(): Subject<Decision> {
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
        policy: 'bare-map',
      }
    },
    isAllowed: (decision) => decision.allowed,
    used: (key) => counts.get(key) ?? 0,
    size: () => counts.size,
  }
}

/** Passes the time and does nothing. What it suffers is the machine's doing, and is in everybody's figures. */
function nothing(): Subject<boolean> {
  return {
    check() {
      const end = performance.now() + 0.005
      while (performance.now() < end);
      return true
    },
    isAllowed: (answer) => answer,
    used: () => 0,
    size: () => 0,
  }
}
