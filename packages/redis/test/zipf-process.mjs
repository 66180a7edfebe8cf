// A process that checks keys as fast as it can, with the built packages. A part of the checks, `hotShare`, are of key 0. The
// others are Zipf keys: key k from 1 up is chosen in proportion to 1 / k ** exponent. It reports the checks and the store
// calls of each key.
const { createLimiter, definePolicy } = await import('@tidegate/core')
const { RedisStore } = await import('@tidegate/redis')
const redis = new RedisStore(process.env.REDIS_URL, { connectTimeoutMs: 20_000 })

/** How often a worker lets the event loop run: a loop of leased checks never leaves the microtasks. */
const CHECKS_PER_TURN = 50
/** Longer than a lease: then all units have been given back. */
const LAST_CALLS_MS = 300

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The sums of the weights of keys 1 to k, for each k. */
function sumsOf(keys, exponent) {
  let sum = 0
  return Float64Array.from({ length: keys + 1 }, (_, k) => {
    if (k > 0) sum += 1 / k ** exponent
    return sum
  })
}

/** The first key whose sum is above a random number. */
function pick(sums) {
  const target = Math.random() * sums[sums.length - 1]
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle] > target) high = middle
    else low = middle + 1
  }
  return low
}

process.on('message', async ({ options, keys, exponent, hotShare, durationMs, workers }) => {
  const sums = sumsOf(keys, exponent)
  const checks = Array(keys + 1).fill(0)
  const calls = Array(keys + 1).fill(0)
  const counted = (operation) => (request, call) => {
    calls[Number(request.key)]++
    return redis[operation](request, call)
  }
  const store = {
    traits: redis.traits,
    check: counted('check'),
    peek: counted('peek'),
    refund: counted('refund'),
    reset: counted('reset'),
    takeUpTo: counted('takeUpTo'),
    take: (requests, call) => redis.take(requests, call),
    close: () => redis.close(),
  }
  const failure = { deadlineMs: 5000, connectTimeoutMs: 20_000, maxInFlight: 100_000 }
  const limiter = createLimiter({ policy: definePolicy(options), store, failure })
  let undecided = 0
  const beganMs = performance.now()
  async function work() {
    for (let i = 1; performance.now() < beganMs + durationMs; i++) {
      const key = Math.random() < hotShare ? 0 : pick(sums)
      const { allowed, degraded } = await limiter.check(String(key))
      if (!allowed || degraded !== undefined) undecided++
      checks[key]++
      if (i % CHECKS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  const seconds = (performance.now() - beganMs) / 1000
  await pause(LAST_CALLS_MS)
  process.send({ checks, calls, undecided, seconds })
})
process.on('disconnect', () => process.exit(0))
process.send('ready')
