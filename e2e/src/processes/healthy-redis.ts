import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { createCpuGroup, MOST_SHARES } from './cpu-group.js'

/**
 * A Redis that answers in time on a busy machine too: the tests of floods and slow processes need a healthy one. Where
 * CPU shares cannot be set, it is an ordinary Redis.
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
