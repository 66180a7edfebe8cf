import { createLimiter, fixedWindow } from '@tidegate/core'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { useRedis } from './use-redis.js'

const used = useRedis()

async function commands(): Promise<number> {
  const stats = await used.redis.info('commandstats')
  const calls = [...stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)].map((match) => Number(match[1]))
  return calls.reduce((sum, each) => sum + each, 0)
}

async function commandsOf(run: () => Promise<unknown>): Promise<number> {
  const before = await commands()
  await run()
  return (await commands()) - before
}

it('inMemoryBlockOnConsumed: the denial cache keeps a flood of denied requests away from Redis', async () => {
  const original = new RateLimiterRedis({
    storeClient: used.redis,
    points: 5,
    duration: 3600,
    inMemoryBlockOnConsumed: 5,
  })
  const store = new RedisStore(used.server.url)
  try {
    const policy = fixedWindow({ limit: 5, window: '1h', start: 'first-request', name: 'flood' })
    const limiter = createLimiter({ policy, store })
    await limiter.ready()
    const flood = async (isAllowed: () => Promise<boolean>) => {
      let allowed = 0
      for (let i = 0; i < 500; i++) if (await isAllowed()) allowed++
      expect(allowed).toBe(5)
    }
    const consume = () =>
      original.consume('key').then(
        () => true,
        () => false,
      )
    const check = async () => (await limiter.check('key')).allowed
    expect(await commandsOf(() => flood(consume))).toBeLessThan(20)
    expect(await commandsOf(() => flood(check))).toBeLessThan(20)
  } finally {
    await store.close()
  }
})
