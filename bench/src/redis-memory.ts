import { createLimiter, slidingWindowLog, tokenBucket } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { Redis } from 'ioredis'
import type { Figures } from './figures.js'
import { makeKeys } from './keys.js'
import { connectToServer } from './redis-connect.js'

/** Bytes that a contender has in Redis: per unit of a log, or per key. */
export async function measureRedisMemory(contender: string, url: string): Promise<Figures> {
  const client = await connectToServer(url)
  try {
    if (contender === 'sliding log') return { bytesPerUnit: await perLoggedUnit(client, url) }
    if (contender === 'token bucket') return { bytesPerKey: await perBucketKey(client, url) }
    return { bytesPerKey: await perBareKey(client) }
  } finally {
    client.disconnect()
  }
}

const LOGGED = 1000
const KEYS = 100_000

/** Of a full log whose units each came at a time of its own, by all elements of the list. */
async function perLoggedUnit(client: Redis, url: string): Promise<number> {
  const store = new RedisStore(url, { connectTimeoutMs: 60_000 })
  const policy = slidingWindowLog({ limit: LOGGED, window: '1h', name: 'log' })
  const limiter = createLimiter({ policy, store, failure: false })
  // One at a time: what travels together has one time.
  for (let i = 0; i < LOGGED; i++) await limiter.check('k')
  const { remaining } = await limiter.peek('k')
  const elements = await client.llen('rate_limiter:log:k')
  if (remaining !== 0 || elements !== 2 * LOGGED + 1) {
    throw new Error(
      `A full log of ${LOGGED} moments should have ${2 * LOGGED + 1} elements, not ${elements}.`,
    )
  }
  await store.close()
  const bytes = await client.memory('USAGE', 'rate_limiter:log:k', 'SAMPLES', 0)
  return Number(bytes) / LOGGED
}

async function perBucketKey(client: Redis, url: string): Promise<number> {
  const store = new RedisStore(url, { connectTimeoutMs: 60_000 })
  const policy = tokenBucket({ capacity: 1000, refillRate: '1/1h', name: 'token' })
  const { check } = createLimiter({ policy, store, failure: false })
  const keys = makeKeys(KEYS)
  // Brings the script, which is no key's.
  await check('first')
  const bytes = await bytesPerKey(client, keys.map(redisKey), async () => {
    await Promise.all(keys.map((key) => check(key)))
  })
  await store.close()
  return bytes

  function redisKey(key: string): string {
    return `rate_limiter:token:${key}`
  }
}

async function perBareKey(client: Redis): Promise<number> {
  const keys = makeKeys(KEYS).map((key) => `rate_limiter:token:${key}`)
  return bytesPerKey(client, keys, async () => {
    await Promise.all(keys.map((key) => client.set(key, '1', 'PX', 3_600_000)))
  })
}

/** What `used_memory` grew by, without the text of the keys' names. */
async function bytesPerKey(
  client: Redis,
  keys: readonly string[],
  write: () => Promise<void>,
): Promise<number> {
  const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
  const [keysBefore, before] = [await client.dbsize(), await used()]
  await write()
  const after = await used()
  const withExpiry = Number(/expires=(\d+)/.exec(await client.info('keyspace'))?.[1])
  if (withExpiry !== keysBefore + keys.length) {
    throw new Error(`${keysBefore + keys.length} keys should have an expiry, ${withExpiry} have one.`)
  }
  const text = keys.reduce((sum, key) => sum + key.length, 0)
  return (after - before - text) / keys.length
}
