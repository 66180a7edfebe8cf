import { slidingWindowLog, tokenBucket } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import { Redis } from 'ioredis'

/** Bytes of a full log of 1,000 units that each came at a time of its own, per unit. */
export async function memoryPerLoggedUnit(port: number): Promise<number> {
  const policy = slidingWindowLog({ limit: 1000, window: '1h', name: 'log' })
  const store = new RedisStore(`redis://127.0.0.1:${port}`)
  const client = new Redis(port, '127.0.0.1')
  for (let i = 0; i < 1000; i++) await store.check({ policy, key: 'k', cost: 1 })
  const elements = await client.llen('rate_limiter:log:k')
  if (elements < 1900)
    throw new Error(`A log of 1,000 moments should have some 2,001 elements, it has ${elements}.`)
  const bytes = (await client.call('MEMORY', 'USAGE', 'rate_limiter:log:k', 'SAMPLES', '0')) as number
  await store.close()
  client.disconnect()
  return bytes / 1000
}

/** Bytes of `used_memory` per token bucket key, beyond the text of its name, over 100,000 keys with expiry. */
export async function memoryPerBucketKey(port: number): Promise<number> {
  const policy = tokenBucket({ capacity: 1000, refillRate: '1/1h', name: 'token' })
  const store = new RedisStore(`redis://127.0.0.1:${port}`)
  const client = new Redis(port, '127.0.0.1')
  const keys = Array.from({ length: 100_000 }, (_, i) => `user:${i}`)
  const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
  await store.check({ policy, key: 'first', cost: 1 })
  const before = await used()
  await Promise.all(keys.map((key) => store.check({ policy, key, cost: 1 })))
  const after = await used()
  if ((await client.dbsize()) !== keys.length + 1) throw new Error('Not every key is there.')
  const text = keys.reduce((sum, key) => sum + `rate_limiter:token:${key}`.length, 0)
  await store.close()
  client.disconnect()
  return (after - before - text) / keys.length
}
