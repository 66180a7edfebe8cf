// Express with two limits: one for all requests of a client, and a stricter one for the search.
//   node examples/middleware/express.mjs
//   curl -i http://127.0.0.1:3000/search
import { fixedWindow, tokenBucket } from '@tidegate/core'
import { byIp } from '@tidegate/http'
import { rateLimit } from '@tidegate/http/express'
import express from 'express'

const app = express()

app.use(
  rateLimit({
    rules: [
      { name: 'each client', policy: tokenBucket({ capacity: 20, refillRate: '20/1m', name: 'client' }) },
      {
        name: 'search',
        match: { path: '/search' },
        policy: fixedWindow({ limit: 3, window: '1d', name: 'search' }),
      },
    ],
    key: byIp(),
    skip: (request) => request.path === '/health',
    onDenied: ({ decision, limits }) => console.error(`${limits[0]?.key} was denied by ${decision.policy}`),
  }),
)
app.get('/', (_, response) => {
  response.send('hello\n')
})
app.get('/search', (_, response) => {
  response.send('found\n')
})
app.get('/health', (_, response) => {
  response.send('ok\n')
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
