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
import { connect } from './redis-connect.js'
import { COUNT, COUNT_SHA } from './redis-script.js'

/** A limiter on Redis as the benchmark sees it, on a connection of its own. `A` is what its check comes to. */
export interface RedisSubject<A = unknown> {
  check(key: string): A | Promise<A>
  isAllowed(answer: A): boolean
  /** The units that the key has used by now; only asked of what is allowed. */
  used(answer: A): number
  /** Of those who reject where others answer: whether that was a refusal. */
  isRefusal?(thrown: unknown): boolean
  close(): Promise<void>
}

/** Nothing expires while it is measured. */
const HOUR_MS = 3_600_000
/** Nor does anything fail because the machine was busy with something else: it takes longer, which is measured. */
const LONG_MS = 60_000

const POLICIES = {
  'fixed window': (limit: number) => fixedWindow({ limit, window: HOUR_MS, name: 'fixed' }),
  'sliding log': (limit: number) =>
    slidingWindowLog({ limit: Math.min(limit, 100_000), window: HOUR_MS, name: 'log' }),
  'sliding counter': (limit: number) => slidingWindowCounter({ limit, window: HOUR_MS, name: 'counter' }),
  'token bucket': (limit: number) => tokenBucket({ capacity: limit, refillRate: '1/1h', name: 'token' }),
  'leaky bucket': (limit: number) => leakyBucket({ capacity: limit, leakRate: '1/1h', name: 'leaky' }),
} satisfies Record<string, (limit: number) => Policy>

type Maker = (url: string, limit: number) => Promise<RedisSubject>

const CONTENDERS: Record<string, Maker> = {
  ...Object.fromEntries(Object.entries(POLICIES).map(([name, policy]) => [name, tidegate(policy)])),
  'token bucket, unbatched': tidegate(POLICIES['token bucket'], { maxBatch: 1 }),
  'token bucket, deadline and breaker': tidegate(POLICIES['token bucket'], {
    failure: { deadlineMs: LONG_MS },
  }),
  'token bucket, asking every time': tidegate(POLICIES['token bucket'], { rememberRefusalsMs: 0 }),
  'rate-limiter-flexible': flexible(),
  'rate-limiter-flexible, blocking in memory': flexible({ blocking: true }),
  'rate-limit-redis': rateLimitRedis,
  'plain EVALSHA': plainEvalsha,
}

export const OURS = Object.keys(POLICIES)
export const PEERS = ['rate-limiter-flexible', 'rate-limit-redis'] as const

/** With a limit that is never reached, unless another is said. */
export function makeRedisContender(name: string, url: string, limit = 1_000_000): Promise<RedisSubject> {
  const make = CONTENDERS[name]
  if (make === undefined) throw new Error(`There is no contender "${name}".`)
  return make(url, limit)
}

/** The libraries fail with Redis, so that ours does too unless it is said: a store is compared with a store. */
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
      // What was let through without asking Redis was not measured.
      isAllowed: (decision) => decision.allowed && decision.degraded === undefined,
      used: (decision) => decision.limit - decision.remaining,
      close: () => store.close(),
    }
  }
}

/** It can refuse from memory too, once a key has used so many points; by itself it does not. */
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
      used: (answer) => answer.consumedPoints,
      isRefusal: (thrown) => thrown instanceof RateLimiterRes,
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
      // A script has no key that would say where it goes. Every node of a cluster needs it.
      const replies = await Promise.all(nodes.map((node) => node.call(command, ...args)))
      return replies[0] as RedisReply
    },
  })
  // It reads nothing else of the middleware's options.
  await store.init({ windowMs: HOUR_MS } as Parameters<typeof store.init>[0])
  return {
    check: (key) => store.increment(key),
    isAllowed: (answer) => answer.totalHits <= limit,
    used: (answer) => answer.totalHits,
    close: async () => client.disconnect(),
  }
}

/** A counter without a limit: what one script call costs with this client and this server, and nothing else. */
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
