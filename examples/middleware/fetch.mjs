// A handler of requests as Bun, Deno, Workers and Next.js know them; here on Node:
//   node examples/middleware/fetch.mjs
//   curl -i http://127.0.0.1:3000/search
import { serve } from '@hono/node-server'
import { createLimiter, tokenBucket } from '@tidegate/core'
import { rateLimit } from '@tidegate/http/fetch'

const limiter = createLimiter({ policy: tokenBucket({ capacity: 3, refillRate: '3/1d', name: 'search' }) })
const limit = rateLimit({ limiter, skip: (request) => new URL(request.url).pathname === '/health' })

/** What each of those would be given. */
const handle = limit((request, /** @type {object} */ _bindings) => {
  return new Response(`hello from ${new URL(request.url).pathname}\n`)
})

serve({ fetch: handle, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
