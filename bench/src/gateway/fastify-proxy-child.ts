import httpProxy from '@fastify/http-proxy'
import rateLimit from '@fastify/rate-limit'
import { fastify } from 'fastify'

/* The closest equivalent on Fastify. Argument: the upstream. Prints its address. */

const app = fastify()
await app.register(rateLimit, {
  max: 1_000_000_000,
  timeWindow: '1 hour',
  keyGenerator: ({ headers }) => `user:${headers['x-user-id']}`,
  cache: 20_000,
})
await app.register(httpProxy, { upstream: process.argv[2]!, undici: { connections: 1024 } })
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
process.once('SIGTERM', () => process.exit(0))
