// A gateway in a separate process, to measure its memory. Argument: the upstream. Sends its URL, and its memory for each
// message.
import { defineProxies } from '@tidegate/http'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { startGateway } from '../dist/gateway/index.js'
import { routeTo } from '../dist/gateway/route-to.js'

const retry = { retries: 0, retriesIfLost: 0, methods: new Set(), isFailure: () => false, backoffMs: () => 0 }
const timeouts = { connectMs: 30_000, headersMs: 60_000, bodyMs: 60_000 }
const route = {
  ...routeTo('all', [process.argv[2]], { retry, timeouts }),
  limiter: () => ({ denial: undefined, headers: { 'x-ratelimit-limit': '1' }, holdMs: 0 }),
}
const gateway = await startGateway({
  host: '127.0.0.1',
  port: 0,
  limits: {
    maxHeaderBytes: 16_384,
    headersTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
    keepAliveTimeoutMs: 60_000,
    stopTimeoutMs: 1000,
  },
  routing: { routes: [route], find: () => route, proxies: defineProxies({}) },
  log: pino({ level: 'silent' }),
  registry: new Registry(),
})
process.on('message', () => {
  const [{ inFlight, pool }] = gateway.upstreams()
  process.send?.({ rss: process.memoryUsage().rss, inFlight, running: pool.stats.running })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ url: gateway.url })
