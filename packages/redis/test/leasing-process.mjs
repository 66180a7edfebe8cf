// A process with limiters of the built packages. It checks one key by each policy at the same time, for a while, and
// reports every admission with the time before and after its check.
const { createLimiter, definePolicy } = await import('@tidegate/core')
const { RedisStore } = await import('@tidegate/redis')
const store = new RedisStore(process.env.REDIS_URL, { connectTimeoutMs: 20_000 })

const nowMs = () => performance.timeOrigin + performance.now()

async function run(options, { key, durationMs, workers, pauseMs }) {
  const policy = definePolicy(options)
  const failure = { deadlineMs: 5000, connectTimeoutMs: 20_000, maxInFlight: 100_000 }
  const limiter = createLimiter({ policy, store, failure })
  const admissions = []
  let checks = 0
  let degraded = 0
  const endMs = nowMs() + durationMs
  async function work() {
    while (nowMs() < endMs) {
      const startMs = nowMs()
      const decision = await limiter.check(key)
      checks++
      if (decision.degraded !== undefined) degraded++
      else if (decision.allowed) admissions.push({ startMs, endMs: nowMs(), cost: 1 })
      if (pauseMs > 0 || !decision.allowed) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      // Yields to the event loop, because a loop of leased checks would stay in microtasks and never read a reply.
      else if (checks % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  const { leases } = limiter.store
  return { admissions, checks, degraded, leases }
}

/** Measures the longest time for which the event loop did not run. */
function measureStalls() {
  let [longestMs, lastMs] = [0, nowMs()]
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, nowMs() - lastMs)
    lastMs = nowMs()
  }, 1)
  return () => {
    clearInterval(timer)
    return longestMs
  }
}

process.on('message', async ({ policies, ...load }) => {
  const endMeasurement = measureStalls()
  const reports = await Promise.all(policies.map((options) => run(options, load)))
  const stalledMs = endMeasurement()
  process.send(reports.map((report) => ({ ...report, stalledMs })))
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
