// A process with applications on Redis. It sends requests to itself and reports their statuses.
// Run as: node app-process.mjs <redis url>
import { withFallback } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import { APPS, statusesOf } from './apps.mjs'

// A long deadline, because the default may be too short on a busy machine.
const patience = { deadlineMs: 10_000, connectTimeoutMs: 10_000 }
const store = withFallback(new RedisStore(process.argv[2] ?? ''), patience)
process.on('message', async (/** @type {{ library: string, limit: number, requests: number }} */ message) => {
  const { library, limit, requests } = message
  const app = await APPS[library]?.(store, {
    limit,
    windowMs: 3_600_000,
    options: { name: library.replace(/\W/g, '') },
  })
  process.send?.(await statusesOf(app?.url ?? '', requests))
  await app?.close()
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
