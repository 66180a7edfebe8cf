// A fetch handler, as for Bun, Deno, Workers and Next.js; here on Node:
//   node examples/middleware/fetch.mjs
//   curl -i http://127.0.0.1:3000/search
import { serve } from '@hono/node-server'
import { rateLimit } from '@tidegate/http/fetch'

const limit = rateLimit({
  algorithm: 'token-bucket',
  capacity: 3,
  refillRate: '3/1d',
  skip: (request) => new URL(request.url).pathname === '/health',
})

/** The handler to export to the runtime. */
const handle = limit((request, /** @type {object} */ _bindings) => {
  return new Response(`hello from ${new URL(request.url).pathname}\n`)
})

serve({ fetch: handle, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
