import { fastify } from 'fastify'
import type { Answer } from './service-server.js'

/*
 * The least that an answer over HTTP can be: one route of Fastify, with a schema so that it writes JSON as fast as it can,
 * and the headers and the body that the service would send. Argument: these, as JSON. Says where it listens.
 */

const { headers, body } = JSON.parse(process.argv[2] ?? '{}') as Answer
const schema = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(body as object).map(([name, value]) => [
      name,
      { type: typeof value === 'number' ? 'integer' : typeof value },
    ]),
  ),
}
const app = fastify()
app.get('/api/v1/rate-limit/check', { schema: { response: { 200: schema } } }, (_request, reply) => {
  reply.headers(headers).send(body)
})
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
process.once('SIGTERM', () => process.exit(0))
