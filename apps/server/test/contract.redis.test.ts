import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeContract } from './contract.js'
import { CHECK, redisStore, startService } from './start-service.js'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

describe('the service on Redis', () => describeContract('redis', () => redisStore(redis)))

describe('two instances on one Redis', () => {
  it.each([
    ['fixed-window', 'limit: 50, window: 1d'],
    ['sliding-window-log', 'limit: 50, window: 1d'],
    ['sliding-window-counter', 'limit: 50, window: 1d'],
    ['token-bucket', 'capacity: 50, refillRate: 1/1d'],
    ['leaky-bucket', 'capacity: 50, leakRate: 1/1d'],
  ])('share one limit of %s exactly', async (algorithm, numbers) => {
    const file = `store: ${redisStore(redis)}\npolicies: { shared-${algorithm}: { algorithm: ${algorithm}, ${numbers} } }`
    const instances = [await startService(file), await startService(file)]
    try {
      const requests = Array.from({ length: 200 }, (_, i) =>
        instances[i % 2]!.get(`${CHECK}?policy=shared-${algorithm}&key=one`),
      )
      const statuses = (await Promise.all(requests)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(50)
      expect(statuses.filter((status) => status === 429)).toHaveLength(150)
    } finally {
      for (const instance of instances) await instance.close()
    }
  })
})
