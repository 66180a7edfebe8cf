// A process of its own with a memory store, flooded with new keys as fast as it can. Arguments: the policy as JSON, how many
// keys. Sends what it saw.
import { createLimiter, definePolicy, MemoryStore } from '@tidegate/core'

const [options = '{}', count = '0'] = process.argv.slice(2)
const limiter = createLimiter({ store: new MemoryStore(), policy: definePolicy(JSON.parse(options)) })
const rss = () => process.memoryUsage.rss()

const beforeBytes = rss()
while (limiter.check('blocked').allowed);

let [mostBytes, refusedNew, admittedBlocked] = [0, 0, 0]
const beganMs = performance.now()
for (let i = 0; i < Number(count); i++) {
  if (!limiter.check(`client-${i}`).allowed) refusedNew++
  if (i % 10_000 !== 0) continue
  // It goes on trying, as clients that are blocked do.
  if (limiter.check('blocked').allowed) admittedBlocked++
  mostBytes = Math.max(mostBytes, rss())
}
const tookMs = performance.now() - beganMs
process.send?.({ beforeBytes, mostBytes, tookMs, refusedNew, admittedBlocked }, () => process.disconnect())
