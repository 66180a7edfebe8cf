import { createLimiter, fixedWindow, type LeasingStore } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { Figures } from '../report/figures.js'

/*
 * Checks one key as fast as it can, as one of several processes. Arguments: contender, URL of Redis, number of processes,
 * checks in flight, seconds. Sends the figures to the parent process.
 */

const [contender = '', url = '', processes = '1', inFlight = '1', seconds = '1'] = process.argv.slice(2)
const WARM_UP_SECONDS = 1
/** How often a caller looks at the clock, and lets the event loop run. */
const CHECKS_PER_TURN = 256

const policy = fixedWindow({
  limit: 1_000_000_000_000,
  window: '1d',
  name: 'hot',
  instances: Number(processes),
  lease: contender.startsWith('leased'),
})
const store = new RedisStore(url)
const limiter = createLimiter({ policy, store, failure: { deadlineMs: 5000 } })
await limiter.ready()

async function checkFor(durationSeconds: number): Promise<number> {
  let checks = 0
  const endMs = performance.now() + durationSeconds * 1000
  async function call(): Promise<void> {
    for (;;) {
      for (let i = 0; i < CHECKS_PER_TURN; i++) {
        const { allowed, degraded } = await limiter.check('hot')
        if (!allowed || degraded !== undefined) throw new Error('A check was not decided by the store.')
        checks++
      }
      if (performance.now() >= endMs) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: Number(inFlight) }, call))
  return checks
}

const storeCalls = () => (limiter.store as Partial<LeasingStore>).leases?.storeCalls

await checkFor(WARM_UP_SECONDS)
const callsBefore = storeCalls() ?? 0
const start = performance.now()
const checks = await checkFor(Number(seconds))
const passed = (performance.now() - start) / 1000
const callsPerCheck = ((storeCalls() ?? checks) - callsBefore) / checks
const figures: Figures = { perSecond: checks / passed, callsPerCheck }
process.send?.(figures, () => process.exit(0))
