import { createLimiter, slidingWindowLog, tokenBucket } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { Redis } from 'ioredis'
import { makeKeys } from '../load/keys.js'
import type { Figures } from '../report/figures.js'
import { connectToServer } from './connect.js'

/** Bytes in Redis: per unit of a log, or per key. */
export async function measureBytes(contender: string, url: string): Promise<Figures> {
  const client = await connectToServer(url)
  try {
    if (contender === 'sliding log') return { bytesPerUnit: await perLoggedUnit(client, url) }
    if (contender === 'token bucket') return { bytesPerKey: await perBucketKey(client, url) }
    return { bytesPerKey: await perPlainKey(client) }
  } finally {
    client.disconnect()
  }
}

const LOGGED = 1000
/** A log starts with two numbers, its shift and its base. Each unit with its own timestamp adds two. */
const HEADER = 2
const KEYS = 100_000

/** The bytes per unit of a full log in which every unit has its own timestamp. */
async function perLoggedUnit(client: Redis, url: string): Promise<number> {
  const store = new RedisStore(url, { connectTimeoutMs: 60_000 })
  const policy = slidingWindowLog({ limit: LOGGED, window: '1h', name: 'log' })
  const limiter = createLimiter({ policy, store, failure: false })
  // One at a time: checks of one batch share a timestamp.
  for (let i = 0; i < LOGGED; i++) await limiter.check('k')
  const { remaining } = await limiter.peek('k')
  const elements = await client.llen('rate_limiter:log:k')
  if (remaining !== 0 || elements !== 2 * LOGGED + HEADER) {
    throw new Error(
      `A full log of ${LOGGED} units should have ${2 * LOGGED + HEADER} elements, but has ${elements}.`,
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
  // Loads the script, whose memory belongs to no key.
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

async function perPlainKey(client: Redis): Promise<number> {
  const keys = makeKeys(KEYS).map((key) => `rate_limiter:token:${key}`)
  return bytesPerKey(client, keys, async () => {
    await Promise.all(keys.map((key) => client.set(key, '1', 'PX', 3_600_000)))
  })
}

/** The growth of `used_memory` per key, without the text of the keys. */
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
    throw new Error(`${keysBefore + keys.length} keys should have an expiry, ${withExpiry} do.`)
  }
  const text = keys.reduce((sum, key) => sum + key.length, 0)
  return (after - before - text) / keys.length
}
