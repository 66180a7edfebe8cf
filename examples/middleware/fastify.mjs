// Fastify with one limit for all routes, and routes with their own options:
//   node examples/middleware/fastify.mjs
//   curl -i http://127.0.0.1:3000/search
import { rateLimit } from '@tidegate/http/fastify'
import { fastify } from 'fastify'

const app = fastify()

app.register(rateLimit, { algorithm: 'token-bucket', capacity: 20, refillRate: '20/1m' })

app.get('/', async () => 'hello\n')
app.get('/search', { config: { rateLimit: { limit: 3, window: '1d' } } }, async () => 'found\n')
app.get('/export', { config: { rateLimit: { cost: 10 } } }, async () => 'exported\n')
app.get('/health', { config: { rateLimit: false } }, async () => 'ok\n')

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }))
