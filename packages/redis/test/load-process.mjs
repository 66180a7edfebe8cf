// A process of its own that checks one key of a Redis store as fast as it can, by the built package, each
// time it is told to. CLOCK_SKEW_MS sets its clock wrong.
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0)
const realNow = Date.now
Date.now = () => realNow() + skewMs

const { definePolicy } = await import('@tidegate/core')
const { RedisStore } = await import('@tidegate/redis')
const store = new RedisStore(process.env.REDIS_URL)

process.on('message', async ({ options, key, attempts, inFlight }) => {
  const policy = definePolicy(options)
  const answer = { allowed: 0, failed: 0, firstMs: Number.POSITIVE_INFINITY, lastMs: 0, clockMs: Date.now() }
  let left = attempts
  async function work() {
    while (left-- > 0) {
      try {
        const { allowed, timeMs } = await store.check({ policy, key, cost: 1 })
        if (allowed) answer.allowed++
        answer.firstMs = Math.min(answer.firstMs, timeMs)
        answer.lastMs = Math.max(answer.lastMs, timeMs)
      } catch {
        answer.failed++
      }
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  process.send(answer)
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
