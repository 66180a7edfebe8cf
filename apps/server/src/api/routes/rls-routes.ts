import type { FastifyInstance } from 'fastify'
import { HttpError } from '../../http/http-error.js'
import { jsonOf, parseRequest } from '../../rls/service/proto-json.js'
import { RlsError } from '../../rls/service/rls-error.js'
import { CODE } from '../../rls/service/rls-messages.js'
import type { Service } from '../../service.js'
import { callersOnly } from '../request/access.js'

/**
 * Adds the rate limit service for Envoy over HTTP, at the paths of the reference: `/json` for clients without gRPC, and
 * `/healthcheck`. They exist only if the service is configured.
 */
export function rlsRoutes(app: FastifyInstance, service: Service): void {
  if (service.startConfig.rls === undefined) return

  app.get('/healthcheck', { schema: { hide: true }, exposeHeadRoute: true }, (_request, reply) => {
    const status = service.rls?.status()
    const isServing = status?.isServing === true && !service.isStopping
    reply.code(isServing ? 200 : 503).type('text/plain; charset=utf-8')
    reply.send(
      !isServing
        ? 'NOT SERVING'
        : status.isStale
          ? 'OK, but the limit files have errors; the previous limits are active'
          : 'OK',
    )
  })

  app.register(async (scope) => {
    // Clients of the reference send JSON with any content type.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.post(
      '/json',
      { schema: { hide: true }, onRequest: callersOnly(service) },
      async (request, reply) => {
        const { rls } = service
        if (rls === undefined)
          throw new HttpError(503, 'The rate limit service is starting; retry in a moment.')
        try {
          const response = await rls.shouldRateLimit(parseRequest(request.body as Buffer | undefined))
          return reply.code(response.overallCode === CODE.overLimit ? 429 : 200).send(jsonOf(response))
        } catch (error) {
          if (!(error instanceof RlsError)) throw error
          throw new HttpError(error.kind === 'invalid' ? 400 : 503, error.message)
        }
      },
    )
  })
}
