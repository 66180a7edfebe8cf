import { fastify } from 'fastify'
import type { FixedResponse } from './service-server.js'

/*
 * The minimum cost of a response over HTTP: one Fastify route with a response schema, which sends the headers and the body
 * of the service. Argument: the response as JSON. Prints its address.
 */

const { headers, body } = JSON.parse(process.argv[2] ?? '{}') as FixedResponse
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
