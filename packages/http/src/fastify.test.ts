import { Readable } from 'node:stream'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { describeCases } from '../test/cases.js'
import { rateLimit } from './fastify.js'

describeCases({
  name: 'Fastify',
  route: '/status/:code',
  tools: {
    header: (request, name) => request.headers[name],
    handler: (answer) => (_: FastifyRequest, reply: FastifyReply, event: never) => {
      const { status, text } = answer(event)
      reply.code(status).send(text)
    },
  },
  async serve(options, application) {
    const app = fastify({ forceCloseConnections: true })
    const answer = (request: FastifyRequest, reply: FastifyReply) => {
      const { status, body } = application.answer(request.url.split('?')[0]!)
      reply.code(status).send(typeof body === 'string' ? body : Readable.from(body))
    }
    // Before the plugin, without waiting for anything.
    app.all('/status/:code', answer)
    app.register(rateLimit, options as never)
    app.all('*', answer)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as { port: number }).port, close: () => app.close() }
  },
})
