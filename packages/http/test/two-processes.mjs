// A server of the test "the same route shares its count across processes". Run as: node two-processes.mjs <redis url>
import { createServer } from 'node:http'
import { rateLimit as expressRateLimit } from '@tidegate/http/express'
import { rateLimit as fastifyRateLimit } from '@tidegate/http/fastify'
import { RedisStore } from '@tidegate/redis'
import express from 'express'
import { fastify } from 'fastify'

const store = new RedisStore(process.argv[2])
const two = { limit: 2, window: '365d' }

const fastifyApp = fastify()
await fastifyApp.register(fastifyRateLimit, {
  global: false,
  store,
  failure: false,
  limit: 100,
  window: '1m',
})
for (const url of ['/login', '/signup'])
  fastifyApp.post(url, { config: { rateLimit: two } }, async () => 'ok')
const fastifyUrl = await fastifyApp.listen({ port: 0, host: '127.0.0.1' })

const expressApp = express()
expressApp.use(expressRateLimit({ ...two, store, failure: false }))
expressApp.get('/', (_request, response) => response.send('ok'))
const server = createServer(expressApp).listen(0, '127.0.0.1', () => {
  process.send({ fastifyUrl, expressUrl: `http://127.0.0.1:${server.address().port}` })
})
process.on('disconnect', () => process.exit(0))
