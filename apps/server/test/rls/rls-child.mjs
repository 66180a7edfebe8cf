// A service in a process of its own, whose memory a test can measure. Argument: the configuration. Sends the
// address of the rate limit service, and replies to each message with its memory, series and connections.
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { loadConfig } from '../../dist/config/load.js'
import { serve } from '../../dist/run/serve.js'

const { config, errors } = loadConfig({ text: process.argv[2], env: {}, flags: { port: '0' } })
if (errors !== undefined) throw new Error(JSON.stringify(errors))
const { service } = await serve({ config, log: pino({ level: 'silent' }) })

process.on('message', async () => {
  // Closed streams are destroyed in later turns, and finalizers run between collections.
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await setTimeout(20)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const metrics = await service.metrics.registry.metrics()
  process.send({
    bytes: heapUsed + external,
    rss,
    series: metrics.split('\n').filter((line) => line.startsWith('rate_limiter_rls_')).length,
    connections: Number(/^rate_limiter_rls_connections (\d+)$/m.exec(metrics)?.[1]),
  })
})
process.on('disconnect', () => process.exit(0))
process.send({ address: service.rls.address })
