// Hono on Node, with problem documents for denied requests:
//   node examples/middleware/hono.mjs
//   curl -i http://127.0.0.1:3000/search
import { serve } from '@hono/node-server'
import { rateLimit } from '@tidegate/http/hono'
import { Hono } from 'hono'

const app = new Hono()

app.get('/health', (context) => context.text('ok\n'))
app.use(rateLimit({ algorithm: 'sliding-window-counter', limit: 3, window: '1d', format: 'problem' }))
app.get('/search', (context) => context.text('found\n'))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
