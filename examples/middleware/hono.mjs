// Hono on Node, with problem documents for refusals:
//   node examples/middleware/hono.mjs
//   curl -i http://127.0.0.1:3000/search
import { serve } from '@hono/node-server'
import { createLimiter, slidingWindowCounter } from '@tidegate/core'
import { rateLimit } from '@tidegate/http/hono'
import { Hono } from 'hono'

const limiter = createLimiter({ policy: slidingWindowCounter({ limit: 3, window: '1d', name: 'search' }) })
const app = new Hono()

app.get('/health', (context) => context.text('well\n'))
app.use(rateLimit({ limiter, format: 'problem' }))
app.get('/search', (context) => context.text('found\n'))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
