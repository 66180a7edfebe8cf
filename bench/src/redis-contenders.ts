import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import { Redis } from 'ioredis'
import { RedisStore as RateLimitRedis } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

/** A limiter on Redis as the benchmark sees it: one connection, nothing refused, nothing expiring. */
export interface RedisSubject {
  /** Answers how many units the key has used by now. */
  check(key: string): Promise<number>
  close(): Promise<void>
}

const LIMIT = 1_000_000
const HOUR_MS = 3_600_000

const POLICIES: Record<string, Policy> = {
  'fixed window': fixedWindow({ limit: LIMIT, window: HOUR_MS, name: 'fixed' }),
  'sliding log': slidingWindowLog({ limit: 100_000, window: HOUR_MS, name: 'log' }),
  'sliding counter': slidingWindowCounter({ limit: LIMIT, window: HOUR_MS, name: 'counter' }),
  'token bucket': tokenBucket({ capacity: LIMIT, refillRate: '1/1h', name: 'token' }),
  'leaky bucket': leakyBucket({ capacity: LIMIT, leakRate: '1/1h', name: 'leaky' }),
}

export const OURS = Object.keys(POLICIES)
export const UNBATCHED = 'token bucket, unbatched'
export const PEERS = ['rate-limiter-flexible', 'rate-limit-redis'] as const

export function makeRedisContender(name: string, port: number): RedisSubject {
  if (name === 'rate-limiter-flexible') return flexible(port)
  if (name === 'rate-limit-redis') return rateLimitRedis(port)
  const policy = POLICIES[name.replace(', unbatched', '')]
  if (policy === undefined) throw new Error(`There is no contender "${name}".`)
  const store = new RedisStore(`redis://127.0.0.1:${port}`, { maxBatch: name === UNBATCHED ? 1 : 64 })
  return {
    check: async (key) => policy.limit - (await store.check({ policy, key, cost: 1 })).remaining,
    close: () => store.close(),
  }
}

function flexible(port: number): RedisSubject {
  const client = new Redis(port, '127.0.0.1')
  const limiter = new RateLimiterRedis({ storeClient: client, points: LIMIT, duration: HOUR_MS / 1000 })
  return {
    check: async (key) => (await limiter.consume(key)).consumedPoints,
    close: async () => client.disconnect(),
  }
}

function rateLimitRedis(port: number): RedisSubject {
  const client = new Redis(port, '127.0.0.1')
  const store = new RateLimitRedis({
    sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<number>,
  })
  store.init?.({ windowMs: HOUR_MS } as Parameters<NonNullable<typeof store.init>>[0])
  return {
    check: async (key) => (await store.increment(key)).totalHits,
    close: async () => client.disconnect(),
  }
}
