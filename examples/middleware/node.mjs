// Node's own server, and a leaky bucket that can hold requests:
//   node examples/middleware/node.mjs
//   for i in 1 2 3 4 5; do curl -s -o /dev/null -w '%{http_code} %{time_total}\n' http://127.0.0.1:3000/search & done
import { createServer } from 'node:http'
import { createLimiter, leakyBucket } from '@tidegate/core'
import { rateLimit } from '@tidegate/http/node'

const limiter = createLimiter({ policy: leakyBucket({ capacity: 3, leakRate: '10/1m', name: 'search' }) })
const limit = rateLimit({
  limiter,
  // At this rate, a held request waits six seconds for each request before it.
  queue: process.env.QUEUE === 'yes',
  skip: (request) => request.url === '/health',
})

const server = createServer(limit((_, response) => response.end('hello\n')))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
