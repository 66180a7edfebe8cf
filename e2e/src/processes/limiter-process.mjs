// A process with a limiter on Redis. Arguments: the URL of Redis, the policy as JSON, and by how many milliseconds its
// wall clock is off. Messages have the task; the process records every check and sends the records at the end.
import { createLimiter, definePolicy } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const [url, options, skewMs] = process.argv.slice(2)
const realNow = Date.now
Date.now = () => realNow() + Number(skewMs ?? 0)
const policy = definePolicy(JSON.parse(options ?? '{}'))
const store = new RedisStore(url ?? '', { denialCacheMs: 0 })
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

let perSecond = 0

/** Makes `perSecond` checks a second until it is stopped, without catching up after a pause of this process. */
async function load() {
  let n = 0
  let due = 0
  let lastMs = performance.now()
  while (isRunning) {
    const nowMs = performance.now()
    due = Math.min(due + ((nowMs - lastMs) / 1000) * perSecond, perSecond / 50)
    lastMs = nowMs
    for (; due >= 1; due--) void check(`key-${n++ % 4}`)
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
  const { allowed, degraded, timeMs, leased } = await limiter.check(key)
  made.push({ startMs, endMs: now(), key, cost: 1, allowed, degraded, atMs: timeMs, leased })
}

function sendMade() {
  process.send?.(made)
  made = []
}

process.on('message', async (/** @type {any} */ message) => {
  if (message.task === 'load') {
    if (perSecond === 0) void load()
    perSecond = message.perSecond
  }
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
