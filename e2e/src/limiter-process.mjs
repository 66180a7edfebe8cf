// A process with a limiter on Redis. Arguments: the URL of Redis and the policy as JSON. Messages tell the process what to
// do; it records every check and sends the records at the end.
import { createLimiter, definePolicy } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const [url, options] = process.argv.slice(2)
const policy = definePolicy(JSON.parse(options ?? '{}'))
const store = new RedisStore(url ?? '', { rememberRefusalsMs: 0 })
/** @type {string[]} */
const events = []
const limiter = createLimiter({
  store,
  policy,
  failure: {
    onEvent(event) {
      if (event.type === 'store') events.push(`store ${event.isUp ? 'up' : `down: ${event.error}`}`)
      if (event.type === 'breaker') events.push(`breaker ${event.state}`)
    },
  },
})
const now = () => performance.timeOrigin + performance.now()

/** @type {object[]} */
let made = []
let isRunning = true

/**
 * Makes checks at a steady rate until it is stopped, without catching up after a pause of this process.
 * @param {number} perSecond
 */
async function load(perSecond) {
  const beganMs = performance.now()
  let n = 0
  while (isRunning) {
    const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond)
    for (n = Math.max(n, due - perSecond / 50); n < due; n++) void check(`key-${n % 4}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/**
 * Makes a number of checks at a steady rate, all that are due after a pause of this process. Each key gets as many
 * checks in a row.
 * @param {{ perSecond: number, checks: number, perKey: number, prefix: string }} run
 */
async function run({ perSecond, checks, perKey, prefix }) {
  const beganMs = performance.now()
  /** @type {Promise<void>[]} */
  const answers = []
  while (answers.length < checks) {
    const due = Math.min(checks, Math.floor(((performance.now() - beganMs) / 1000) * perSecond))
    for (let n = answers.length; n < due; n++) answers.push(check(`${prefix}-${Math.floor(n / perKey)}`))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(answers)
}

/** @param {string} key */
async function check(key) {
  const startMs = now()
  const { allowed, degraded, timeMs } = await limiter.check(key)
  made.push({ startMs, endMs: now(), key, cost: 1, allowed, degraded, atMs: timeMs })
}

function sendMade() {
  process.send?.(made)
  made = []
}

process.on('message', async (/** @type {any} */ message) => {
  if (message.task === 'load') void load(message.perSecond)
  if (message.task === 'run') {
    await run(message)
    sendMade()
  }
  if (message.task === 'stop') {
    isRunning = false
    await new Promise((resolve) => setTimeout(resolve, 200))
    sendMade()
  }
  if (message.task === 'events') process.send?.(events)
})
process.on('disconnect', () => process.exit(0))
await limiter.peek('first')
process.send?.('ready')
