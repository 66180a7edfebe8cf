// A process of its own with a limiter on Redis, which is told what to do by messages. Arguments: the URL of Redis.
// It keeps every check it makes, and hands them over when it is asked for them.
import { createLimiter, definePolicy } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const [url, options] = process.argv.slice(2)
const policy = definePolicy(JSON.parse(options ?? '{}'))
const store = new RedisStore(url ?? '', { rememberRefusalsMs: 0 })
const limiter = createLimiter({ store, policy })
const now = () => performance.timeOrigin + performance.now()

/** @type {object[]} */
let made = []
let isRunning = true

/** @param {number} perSecond */
async function load(perSecond) {
  const beganMs = performance.now()
  let n = 0
  while (isRunning) {
    const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond)
    for (n = Math.max(n, due - perSecond / 50); n < due; n++) void check(`key-${n % 4}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** @param {string} key */
async function check(key) {
  const startMs = now()
  const { allowed, degraded, timeMs } = await limiter.check(key)
  made.push({ startMs, endMs: now(), key, cost: 1, allowed, degraded, atMs: timeMs })
}

process.on('message', async (/** @type {{ task: string, perSecond?: number }} */ { task, perSecond = 0 }) => {
  if (task === 'load') void load(perSecond)
  if (task === 'stop') {
    isRunning = false
    await new Promise((resolve) => setTimeout(resolve, 200))
    process.send?.(made)
    made = []
  }
})
process.on('disconnect', () => process.exit(0))
await limiter.peek('first')
process.send?.('ready')
