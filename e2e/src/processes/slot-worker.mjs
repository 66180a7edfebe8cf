// A process whose workers hold slots of one key and do work in small steps. Arguments: the URL of Redis, and as JSON
// { policy, workers, skewMs, heedsSignal }. A message ends it after the units that are in progress.
const [url = '', json = '{}'] = process.argv.slice(2)
const { policy: numbers, workers, skewMs, heedsSignal } = JSON.parse(json)
const realNow = Date.now
Date.now = () => realNow() + skewMs

const { createLimiter, definePolicy } = await import('@tidegate/core')
const { RedisStore } = await import('@tidegate/redis')
const { commandsOf } = await import('@tidegate/redis/store-commands')
const { stepOf, endOf } = await import('./running-work.mjs')

const policy = /** @type {import('@tidegate/core').ConcurrencyPolicy} */ (definePolicy(numbers))
const limiter = createLimiter({ policy, store: new RedisStore(url), failure: { onEvent() {} } })
// A connection of its own: the count of the work does not depend on the limiter.
const redis = commandsOf(new RedisStore(url))

let isRunning = true
let units = 0

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Acquires a slot, works, releases it, until the process is told to end. */
async function work() {
  while (isRunning) {
    const slot = await limiter.acquire('job')
    if (slot.allowed) {
      try {
        await doUnit(slot)
      } finally {
        await slot.release()
      }
    }
    await pause(10)
  }
}

/** Every fourth unit takes longer than the ttl. @param {{ signal: AbortSignal }} slot */
async function doUnit(slot) {
  const unit = `${process.pid}-${++units}`
  const steps = units % 4 === 0 ? 300 : 20
  const isLost = () => heedsSignal && slot.signal.aborted
  for (let step = 0; step < steps && !isLost(); step++) {
    await stepOf(redis, unit)
    await pause(5)
  }
  await endOf(redis, unit, isLost() ? 'lost' : 'done')
}

process.on('message', async () => {
  isRunning = false
  await running
  process.send?.('finished')
})
process.on('disconnect', () => process.exit(0))
await limiter.peek('job')
const running = Promise.all(Array.from({ length: workers }, work))
process.send?.('ready')
