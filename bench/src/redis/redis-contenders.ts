import {
  createLimiter,
  type Decision,
  fixedWindow,
  type LimiterOptions,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { RedisStore, type RedisStoreOptions } from '@tidegate/redis'
import type { ClientRateLimitInfo } from 'express-rate-limit'
import { RedisStore as RateLimitRedis, type RedisReply } from 'rate-limit-redis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { connect } from './connect.js'
import { COUNT, COUNT_SHA } from './counter-script.js'

/** A limiter on Redis, as the benchmark uses it, with its own connection. `A` is the result of its check. */
export interface RedisSubject<A = unknown> {
  check(key: string): A | Promise<A>
  isAllowed(result: A): boolean
  /** The units that the key has used, from the result of an allowed check. */
  used(result: A): number
  /** For libraries that reject instead of returning a denial: whether this error is one. */
  isDenial?(thrown: unknown): boolean
  close(): Promise<void>
}

/** Nothing expires during a run. */
const HOUR_MS = 3_600_000
/** Nothing times out on a busy machine; the latency is measured instead. */
const LONG_MS = 60_000

const POLICIES = {
  'fixed window': (limit: number) => fixedWindow({ limit, window: HOUR_MS, name: 'fixed' }),
  'sliding log': (limit: number) =>
    slidingWindowLog({ limit: Math.min(limit, 100_000), window: HOUR_MS, name: 'log' }),
  'sliding counter': (limit: number) => slidingWindowCounter({ limit, window: HOUR_MS, name: 'counter' }),
  'token bucket': (limit: number) => tokenBucket({ capacity: limit, refillRate: '1/1h', name: 'token' }),
  'leaky bucket': (limit: number) => leakyBucket({ capacity: limit, leakRate: '1/1h', name: 'leaky' }),
} satisfies Record<string, (limit: number) => Policy>

export const PLAIN_EVALSHA = 'plain EVALSHA'

type Maker = (url: string, limit: number) => Promise<RedisSubject>

const CONTENDERS: Record<string, Maker> = {
  ...Object.fromEntries(Object.entries(POLICIES).map(([name, policy]) => [name, tidegate(policy)])),
  'token bucket, unbatched': tidegate(POLICIES['token bucket'], { maxBatch: 1 }),
  'token bucket, timeout and circuit breaker': tidegate(POLICIES['token bucket'], {
    failure: { deadlineMs: LONG_MS },
  }),
  'token bucket, no denial cache': tidegate(POLICIES['token bucket'], { denialCacheMs: 0 }),
  'rate-limiter-flexible': flexible(),
  'rate-limiter-flexible, blocking in memory': flexible({ blocking: true }),
  'rate-limit-redis': rateLimitRedis,
  [PLAIN_EVALSHA]: plainEvalsha,
}

export const ALGORITHMS = Object.keys(POLICIES)
export const LIBRARIES = ['rate-limiter-flexible', 'rate-limit-redis'] as const

/** The default limit is never reached. */
export function makeRedisContender(name: string, url: string, limit = 1_000_000): Promise<RedisSubject> {
  const make = CONTENDERS[name]
  if (make === undefined) throw new Error(`Unknown contender "${name}".`)
  return make(url, limit)
}

/** Without resilience by default: the libraries fail when Redis does, and stores are compared with stores. */
function tidegate(
  policyOf: (limit: number) => Policy,
  { failure = false, ...options }: RedisStoreOptions & Pick<LimiterOptions, 'failure'> = {},
): Maker {
  return async (url, limit): Promise<RedisSubject<Decision>> => {
    const policy = policyOf(limit)
    const store = new RedisStore(url, { connectTimeoutMs: LONG_MS, ...options })
    const { check } = createLimiter({ policy, store, failure })
    return {
      check: (key) => check(key),
      // A decision without Redis would not be measured.
      isAllowed: (decision) => decision.allowed && decision.degraded === undefined,
      used: (decision) => decision.limit - decision.remaining,
      close: () => store.close(),
    }
  }
}

/** `blocking`: deny from memory once a key has used its points, which is off by default. */
function flexible({ blocking = false } = {}): Maker {
  return async (url, limit): Promise<RedisSubject<RateLimiterRes>> => {
    const client = await connect(url)
    const limiter = new RateLimiterRedis({
      storeClient: client,
      points: limit,
      duration: HOUR_MS / 1000,
      ...(blocking ? { inMemoryBlockOnConsumed: limit } : {}),
    })
    return {
      check: (key) => limiter.consume(key),
      isAllowed: () => true,
      used: (result) => result.consumedPoints,
      isDenial: (thrown) => thrown instanceof RateLimiterRes,
      close: async () => client.disconnect(),
    }
  }
}

async function rateLimitRedis(url: string, limit: number): Promise<RedisSubject<ClientRateLimitInfo>> {
  const client = await connect(url)
  const nodes = 'nodes' in client ? client.nodes('master') : [client]
  const store = new RateLimitRedis({
    async sendCommand(command: string, ...args: string[]) {
      if (command !== 'SCRIPT') return client.call(command, ...args) as Promise<RedisReply>
      // SCRIPT has no key that selects a node. Every node of a cluster needs the script.
      const replies = await Promise.all(nodes.map((node) => node.call(command, ...args)))
      return replies[0] as RedisReply
    },
  })
  // The store reads no other option of the middleware.
  await store.init({ windowMs: HOUR_MS } as Parameters<typeof store.init>[0])
  return {
    check: (key) => store.increment(key),
    isAllowed: (result) => result.totalHits <= limit,
    used: (result) => result.totalHits,
    close: async () => client.disconnect(),
  }
}

/** A counter without a limit: the minimum cost of one script call with this client and this server. */
async function plainEvalsha(url: string): Promise<RedisSubject<[timeUs: number, count: number]>> {
  const client = await connect(url)
  const nodes = 'nodes' in client ? client.nodes('master') : [client]
  await Promise.all(nodes.map((node) => node.script('LOAD', COUNT)))
  return {
    check: (key) => client.evalsha(COUNT_SHA, 1, key, HOUR_MS) as Promise<[number, number]>,
    isAllowed: () => true,
    used: ([, count]) => count,
    close: async () => client.disconnect(),
  }
}
