// A process with a Redis store of the built package. Messages name the task to run.
// CLOCK_SKEW_MS is the error of its clock; STORE_OPTIONS are the options of the store as JSON.
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0)
const realNow = Date.now
Date.now = () => realNow() + skewMs

const { definePolicy } = await import('@tidegate/core')
const { RedisStore } = await import('@tidegate/redis')
const store = new RedisStore(process.env.REDIS_URL, JSON.parse(process.env.STORE_OPTIONS ?? '{}'))

const tasks = {
  check: (policy, { key, cost }) => store.check({ policy, key, cost }),
  peek: (policy, { key, cost }) => store.peek({ policy, key, cost }),

  /** Checks one key `attempts` times, `inFlight` at a time. */
  async load(policy, { key, attempts, inFlight }) {
    const answer = {
      allowed: 0,
      failures: [],
      firstMs: Number.POSITIVE_INFINITY,
      lastMs: 0,
      clockMs: Date.now(),
    }
    let left = attempts
    async function work() {
      while (left-- > 0) {
        try {
          const { allowed, timeMs } = await store.check({ policy, key, cost: 1 })
          if (allowed) answer.allowed++
          answer.firstMs = Math.min(answer.firstMs, timeMs)
          answer.lastMs = Math.max(answer.lastMs, timeMs)
        } catch (error) {
          answer.failures.push(error.message)
        }
      }
    }
    await Promise.all(Array.from({ length: inFlight }, work))
    return answer
  },

  /** Checks one key for `durationMs`, pausing after each denial. Returns the store's time of each allowed check. */
  async hammer(policy, { key, durationMs, inFlight }) {
    const answer = { allowedMs: [], denied: 0, failed: 0 }
    const end = performance.now() + durationMs
    async function work() {
      while (performance.now() < end) {
        try {
          const { allowed, timeMs } = await store.check({ policy, key, cost: 1 })
          if (allowed) answer.allowedMs.push(timeMs)
          else {
            answer.denied++
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
        } catch {
          answer.failed++
        }
      }
    }
    await Promise.all(Array.from({ length: inFlight }, work))
    return answer
  },
}

process.on('message', async ({ task, options, ...rest }) => {
  process.send(await tasks[task](definePolicy(options), rest))
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
