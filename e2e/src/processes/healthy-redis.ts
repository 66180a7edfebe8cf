import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterEach, beforeEach } from 'vitest'
import { createCpuGroup, MOST_SHARES } from './cpu-group.js'

/**
 * Starts a Redis with a high CPU priority, which the tests of floods and slow processes need on a busy machine. An ordinary
 * Redis if CPU shares cannot be set.
 */
export async function startHealthyRedis(): Promise<RedisServer> {
  const redis = await startRedis()
  const group = createCpuGroup(redis.process.pid!, { 'cpu.shares': MOST_SHARES })
  return {
    ...redis,
    async stop() {
      await redis.stop()
      await group?.remove()
    },
  }
}

/** Starts a healthy Redis for each test of a file. Returns a function that returns it. */
export function useHealthyRedis(): () => RedisServer {
  let redis: RedisServer | undefined
  beforeEach(async () => {
    redis = await startHealthyRedis()
  })
  afterEach(() => redis?.stop())
  return () => redis!
}
