import type { Decision, Policy } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { DEFAULT_PREFIX, redisKey } from '../src/keys.js'
import { RedisStore } from '../src/redis-store.js'
import { clientOf } from './redis-clients.js'

/** Available from the first test of the file on. */
export interface UsedRedis {
  server: RedisServer
  redis: Redis
  store: RedisStore
  check(policy: Policy, key: string, cost?: number): Promise<Decision>
  /** The names of all keys in Redis. */
  namesOfAll(): Promise<string[]>
}

/** A server for the tests of one file, a client of it, and a store on it without a denial cache. */
export function useRedis(): UsedRedis {
  const used = {
    check: (policy, key, cost = 1) => used.store.check({ policy, key, cost }),
    async namesOfAll() {
      const found: string[] = []
      for await (const names of used.redis.scanStream({ count: 1000 })) found.push(...(names as string[]))
      return found
    },
  } as UsedRedis
  beforeAll(async () => {
    used.server = await startRedis()
    used.redis = clientOf(used.server)
    used.store = new RedisStore(used.server.url, { denialCacheMs: 0 })
  })
  afterAll(async () => {
    await used.store?.close()
    used.redis?.disconnect()
    await used.server?.stop()
  })
  return used
}

/** The Redis key of a policy's key. */
export function nameOf(policy: Policy, key: string): string {
  return redisKey(DEFAULT_PREFIX, policy.name, key)
}
