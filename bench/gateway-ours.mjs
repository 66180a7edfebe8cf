// The gateway with one route and one limiter in memory. Argument: the upstream. Says where it listens.
import { fixedWindow, MemoryStore } from '@tidegate/core'
import { defineProxies, defineRateLimit } from '@tidegate/http'
import { startGateway } from '../apps/server/dist/gateway/gateway.js'

const { decide } = defineRateLimit(
  {
    store: new MemoryStore(),
    rules: [{ policy: fixedWindow({ limit: 1_000_000_000, window: '1h' }), key: 'user:{header.x-user-id}' }],
    warnings: false,
  },
  { reader: { facts: (request) => request, identity: (request) => request }, name: 'gateway', options: [] },
)
const route = {
  id: 'all',
  upstreams: [process.argv[2]],
  healthCheck: undefined,
  limit: decide,
  requestFilters: [],
  responseFilters: [],
  answer: undefined,
  preserveHost: false,
  maxBodyBytes: undefined,
  retry: { retries: 0, methods: new Set(), isFailure: () => false, backoffMs: () => 0 },
  webSocket: false,
  timeouts: { connectMs: 5000, headersMs: 30_000, bodyMs: 30_000 },
}
const gateway = await startGateway({
  host: '127.0.0.1',
  port: 0,
  limits: {
    maxHeaderBytes: 16_384,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    keepAliveTimeoutMs: 5000,
    stopTimeoutMs: 0,
  },
  routing: { routes: [route], find: () => route, proxies: defineProxies({}) },
  log: { error: console.error, warn: console.error, info() {} },
  registry: { registerMetric() {} },
})
console.log(gateway.url)
process.once('SIGTERM', () => process.exit(0))
