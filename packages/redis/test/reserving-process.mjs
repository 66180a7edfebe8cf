// A process that makes one reservation, reports its decision, and waits to be killed.
import { definePolicy } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const store = new RedisStore(process.env.REDIS_URL)
process.on('message', async ({ options, key, cost, id, ttl }) => {
  const { allowed } = await store.reserve([{ policy: definePolicy(options), key, cost }], { id, ttl })
  process.send({ allowed })
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
