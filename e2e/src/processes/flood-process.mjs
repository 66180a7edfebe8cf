// A process with a memory store that is flooded with new keys. Arguments: the policy as JSON, and the number of keys.
// Sends the results.
import { createLimiter, definePolicy, MemoryStore } from '@tidegate/core'

const [options = '{}', count = '0'] = process.argv.slice(2)
const limiter = createLimiter({ store: new MemoryStore(), policy: definePolicy(JSON.parse(options)) })
const rss = () => process.memoryUsage.rss()

const beforeBytes = rss()
while (limiter.check('blocked').allowed);

let [mostBytes, deniedNew, admittedBlocked] = [0, 0, 0]
const beganMs = performance.now()
for (let i = 0; i < Number(count); i++) {
  if (!limiter.check(`client-${i}`).allowed) deniedNew++
  if (i % 10_000 !== 0) continue
  // The denied client keeps trying.
  if (limiter.check('blocked').allowed) admittedBlocked++
  mostBytes = Math.max(mostBytes, rss())
}
const tookMs = performance.now() - beganMs
process.send?.({ beforeBytes, mostBytes, tookMs, deniedNew, admittedBlocked }, () => process.disconnect())
