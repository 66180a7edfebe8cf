import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { answerBadHttp } from '../http/bad-http.js'
import type { Service } from '../service.js'
import { actuatorRoutes } from './actuator.js'
import { adminRoutes } from './admin.js'
import { ApiError } from './api-error.js'
import { batchRoutes } from './batch.js'
import { boundBodies } from './body-budget.js'
import { checkRoutes } from './check.js'
import { docsRoutes } from './docs.js'
import { answerFrameworkError, errorHandler, sendError } from './error-handler.js'
import { rejectForeignPages } from './foreign-pages.js'
import { homeRoutes } from './home.js'
import { createHttpServer } from './http-server.js'
import { parseJsonBody } from './json-body.js'
import { keysRoutes } from './keys.js'
import { liveRoutes } from './live.js'
import { raceRoutes } from './race.js'
import { pathOf } from './refuse.js'
import { remainingRoutes } from './remaining.js'
import { requestIds } from './request-id.js'
import { resetRoutes } from './reset.js'
import { validatorCompiler } from './validate.js'

const MAX_BODY_BYTES = 64 * 1024

/** Creates the API of a service. It does not listen yet. */
export async function createApp(service: Service): Promise<FastifyInstance> {
  const idOf = requestIds()
  const app = fastify({
    serverFactory: (listener) => createHttpServer(service, service.inForce.config, idOf, listener),
    bodyLimit: MAX_BODY_BYTES,
    genReqId: idOf,
    // A child logger for each request would cost more than the check. The error handler logs failures.
    logger: false,
    exposeHeadRoutes: false,
    // Requests that arrive during shutdown are served, with Connection: close.
    return503OnClosing: false,
    clientErrorHandler: answerBadHttp,
    frameworkErrors: answerFrameworkError,
    routerOptions: { querystringParser: (raw) => raw as never },
  })
  app.setErrorHandler(errorHandler(service.log))
  app.setValidatorCompiler(validatorCompiler())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseJsonBody(request, body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.decorateRequest('caller', null)
  // Set by the first hook of all, below.
  app.decorateRequest('inForce', null as never)
  app.addHook('onRequest', (request, reply, done) => {
    request.inForce = service.inForce
    reply.header('x-request-id', request.id)
    reply.header('cache-control', 'no-store')
    done()
  })
  app.addHook('onRequest', rejectForeignPages(service))
  app.addHook('preParsing', boundBodies(service))

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidegate',
        version: service.version,
        description: 'A rate limiter: check whether a request is allowed.',
      },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    },
  })
  const methods = new Map<string, string[]>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()])
  })
  for (const addRoutes of [
    checkRoutes,
    batchRoutes,
    remainingRoutes,
    resetRoutes,
    adminRoutes,
    liveRoutes,
    keysRoutes,
    raceRoutes,
    actuatorRoutes,
    homeRoutes,
    docsRoutes,
  ]) {
    addRoutes(app, service)
  }
  app.setNotFoundHandler((request, reply) => sendError(notFound(methods, request), request, reply))
  await app.ready()
  return app
}

function notFound(methods: ReadonlyMap<string, readonly string[]>, request: FastifyRequest): ApiError {
  const allowed = methods.get(pathOf(request))
  if (allowed === undefined) return new ApiError(404, 'There is nothing here; see /docs for the routes.')
  const allow = allowed.join(', ')
  return new ApiError(405, `Use ${allow} here.`, { headers: { allow } })
}
