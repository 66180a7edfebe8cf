// Fastify with one limit for all routes, and routes with something of their own:
//   node examples/middleware/fastify.mjs
//   curl -i http://127.0.0.1:3000/search
import { fixedWindow, tokenBucket } from '@tidegate/core'
import { rateLimit } from '@tidegate/http/fastify'
import { fastify } from 'fastify'

const app = fastify()

app.register(rateLimit, { policy: tokenBucket({ capacity: 20, refillRate: '20/1m', name: 'client' }) })

app.get('/', async () => 'hello\n')
app.get('/search', { config: { rateLimit: { policy: searches() } } }, async () => 'found\n')
app.get('/export', { config: { rateLimit: { cost: 10 } } }, async () => 'all of it\n')
app.get('/health', { config: { rateLimit: false } }, async () => 'well\n')

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }))

function searches() {
  return fixedWindow({ limit: 3, window: '1d', name: 'search' })
}
