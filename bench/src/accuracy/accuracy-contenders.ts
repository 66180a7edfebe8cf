import { createHash } from 'node:crypto'
import {
  createLimiter,
  fixedWindow,
  MemoryStore,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import { Ratelimit } from '@upstash/ratelimit'
import Bottleneck from 'bottleneck'
import { Redis } from 'ioredis'
import { RedisStore as RateLimitRedis, type RedisReply } from 'rate-limit-redis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

/** A limiter of one process, which shares its limit with other processes. */
interface AccuracySubject {
  isAllowed(key: string): Promise<boolean>
  /** Whether an excess check waits for its turn instead of being denied. It is admitted when its promise resolves. */
  isQueue?: true
  close(): Promise<void>
}

interface Contender {
  /** The algorithm, for the number of units that it allows. */
  policyOf: (limit: number) => RatePolicy
  make: (url: string, limit: number, processes: number) => Promise<AccuracySubject>
}

const WINDOW = '1s'
/** Nothing times out on a busy machine. */
const LONG_MS = 60_000

const fixed = (limit: number) => fixedWindow({ limit, window: WINDOW, name: 'fixed' })
const first = (limit: number) =>
  fixedWindow({ limit, window: WINDOW, start: 'first-request', name: 'first-request' })
const log = (limit: number) => slidingWindowLog({ limit, window: WINDOW, name: 'log' })
const counter = (limit: number) => slidingWindowCounter({ limit, window: WINDOW, name: 'counter' })
const bucket = (limit: number) =>
  tokenBucket({ capacity: limit, refillRate: `${limit}/${WINDOW}`, name: 'bucket' })

const CONTENDERS: Readonly<Record<string, Contender>> = {
  'fixed window': shared(fixed),
  'fixed window, first request': shared(first),
  'sliding log': shared(log),
  'sliding counter': shared(counter),
  'token bucket': shared(bucket),
  'fixed window, leased 50 ms': leased('50ms'),
  'fixed window, leased 100 ms': leased('100ms'),
  'fixed window, leased 500 ms': leased('500ms'),
  'fixed window, local shares': { policyOf: fixed, make: local },
  'rate-limiter-flexible': { policyOf: first, make: flexible },
  'rate-limit-redis': { policyOf: first, make: rateLimitRedis },
  '@upstash/ratelimit, fixed window': upstash(fixed, (limit) => Ratelimit.fixedWindow(limit, '1 s')),
  '@upstash/ratelimit, sliding window': upstash(counter, (limit) => Ratelimit.slidingWindow(limit, '1 s')),
  '@upstash/ratelimit, token bucket': upstash(bucket, (limit) => Ratelimit.tokenBucket(limit, '1 s', limit)),
  bottleneck: { policyOf: first, make: bottleneck },
}

export const ACCURACY_CONTENDERS = Object.keys(CONTENDERS)
/** Tidegate on Redis. */
export const EXACT_CONTENDERS = [
  'fixed window',
  'fixed window, leased 50 ms',
  'fixed window, leased 100 ms',
  'fixed window, leased 500 ms',
  'fixed window, first request',
  'sliding log',
  'sliding counter',
  'token bucket',
]

export function accuracyContender(name: string): Contender {
  const contender = CONTENDERS[name]
  if (contender === undefined) throw new Error(`Unknown contender "${name}".`)
  return contender
}

/** `leasedOf`: the policy with a lease, if it has one. */
function shared(
  policyOf: (limit: number) => RatePolicy,
  leasedOf?: (limit: number, processes: number) => RatePolicy,
): Contender {
  return {
    policyOf,
    async make(url, limit, processes) {
      const store = new RedisStore(url, { connectTimeoutMs: LONG_MS })
      const policy = leasedOf?.(limit, processes) ?? policyOf(limit)
      const limiter = createLimiter({ policy, store, failure: { deadlineMs: LONG_MS } })
      await limiter.ready()
      return { isAllowed: async (key) => (await limiter.check(key)).allowed, close: () => store.close() }
    },
  }
}

function leased(maxAge: `${number}ms`): Contender {
  return shared(fixed, (limit, instances) =>
    fixedWindow({ limit, window: WINDOW, name: 'leased', lease: { maxAge }, instances }),
  )
}

/** Each process counts separately, with its share of the limit. */
async function local(_: string, limit: number, processes: number): Promise<AccuracySubject> {
  const limiter = createLimiter({ policy: fixed(limit / processes), store: new MemoryStore() })
  return { isAllowed: async (key) => limiter.check(key).allowed, close: async () => {} }
}

async function flexible(url: string, limit: number): Promise<AccuracySubject> {
  const client = await connected(url)
  const limiter = new RateLimiterRedis({ storeClient: client, points: limit, duration: 1 })
  return {
    async isAllowed(key) {
      try {
        await limiter.consume(key)
        return true
      } catch (thrown) {
        if (thrown instanceof RateLimiterRes) return false
        throw thrown
      }
    },
    close: async () => client.disconnect(),
  }
}

async function rateLimitRedis(url: string, limit: number): Promise<AccuracySubject> {
  const client = await connected(url)
  const store = new RateLimitRedis({
    sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<RedisReply>,
  })
  // The store reads no other option of the middleware.
  await store.init({ windowMs: 1000 } as Parameters<typeof store.init>[0])
  return {
    isAllowed: async (key) => (await store.increment(key)).totalHits <= limit,
    close: async () => client.disconnect(),
  }
}

type UpstashLimiter = ConstructorParameters<typeof Ratelimit>[0]['limiter']
type UpstashRedis = ConstructorParameters<typeof Ratelimit>[0]['redis']

/** The scripts of @upstash/ratelimit on this Redis: its own client speaks HTTP to a service. */
function upstash(
  policyOf: (limit: number) => RatePolicy,
  limiterOf: (limit: number) => UpstashLimiter,
): Contender {
  return {
    policyOf,
    async make(url, limit) {
      const client = await connected(url)
      const redis = {
        evalsha: () => Promise.reject(new Error('NOSCRIPT')),
        async eval(script: string, keys: string[], args: unknown[]) {
          // A flag that other Redis servers do not support.
          const text = script.replace(/^#!lua flags=allow-key-locking\n/, '')
          const values = [keys.length, ...keys, ...args.map(String)] as const
          try {
            return await client.evalsha(createHash('sha1').update(text).digest('hex'), ...values)
          } catch {
            return client.eval(text, ...values)
          }
        },
      } as unknown as UpstashRedis
      const limiter = new Ratelimit({ redis, limiter: limiterOf(limit), timeout: 0 })
      return {
        isAllowed: async (key) => (await limiter.limit(key)).success,
        close: async () => client.disconnect(),
      }
    },
  }
}

/** A reservoir that is filled every second. */
async function bottleneck(url: string, limit: number): Promise<AccuracySubject> {
  const { hostname, port } = new URL(url)
  const limiter = new Bottleneck({
    id: 'accuracy',
    datastore: 'ioredis',
    Redis,
    clientOptions: { host: hostname, port: Number(port) },
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: 1000,
  })
  await limiter.ready()
  return {
    isQueue: true,
    isAllowed: () => limiter.schedule(async () => true),
    close: () => limiter.disconnect(),
  }
}

async function connected(url: string): Promise<Redis> {
  const client = new Redis(url)
  await client.ping()
  return client
}
