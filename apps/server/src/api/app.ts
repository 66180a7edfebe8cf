import swagger from '@fastify/swagger'
import { show } from '@tidegate/core'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { respondToBadHttp } from '../http/bad-http.js'
import { HttpError } from '../http/http-error.js'
import { requestIds } from '../http/request-id.js'
import type { Service } from '../service.js'
import { createHttpServer } from './http-server.js'
import { completeDocument } from './openapi/complete-document.js'
import { boundBodies } from './request/body-budget.js'
import { rejectForeignPages } from './request/foreign-pages.js'
import { parseJsonBody } from './request/json-body.js'
import { validatorCompiler } from './request/schema-validator.js'
import { pathOf } from './response/denial.js'
import { errorHandler, respondToFrameworkError, sendError } from './response/error-handler.js'
import { isOpenedInBrowser, sendNotFoundPage } from './response/not-found-page.js'
import { actuatorRoutes } from './routes/actuator-routes.js'
import { batchRoutes } from './routes/batch-route.js'
import { checkRoutes } from './routes/check-route.js'
import { docsRoutes } from './routes/docs-route.js'
import { forwardAuthRoutes } from './routes/forward-auth-route.js'
import { homeRoutes } from './routes/home-route.js'
import { keysRoutes } from './routes/keys-route.js'
import { liveRoutes } from './routes/live-route.js'
import { adminRoutes } from './routes/policies-route.js'
import { raceRoutes } from './routes/race-route.js'
import { refundRoutes } from './routes/refund-route.js'
import { remainingRoutes } from './routes/remaining-route.js'
import { reservationRoutes } from './routes/reservation-routes.js'
import { resetRoutes } from './routes/reset-route.js'
import { rlsRoutes } from './routes/rls-routes.js'
import { slotRoutes } from './routes/slot-routes.js'

const MAX_BODY_BYTES = 64 * 1024

/** Creates the API of a service. It does not listen yet. */
export async function createApp(service: Service): Promise<FastifyInstance> {
  const idOf = requestIds()
  const app = fastify({
    serverFactory: (listener) => createHttpServer(service, service.activeConfig.config, idOf, listener),
    bodyLimit: MAX_BODY_BYTES,
    genReqId: idOf,
    // A child logger per request would cost more than the check. The error handler logs failures.
    logger: false,
    exposeHeadRoutes: false,
    // Requests that arrive during shutdown are served, with Connection: close.
    return503OnClosing: false,
    clientErrorHandler: respondToBadHttp,
    frameworkErrors: respondToFrameworkError,
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
  // Set by the first onRequest hook, below.
  app.decorateRequest('activeConfig', null as never)
  app.addHook('onRequest', (request, reply, done) => {
    request.activeConfig = service.activeConfig
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
        description: 'Check whether a request is allowed, and administer the rate limits. [Dashboard](/)',
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [
        { name: 'rate limit', description: 'Check keys and requests.' },
        { name: 'administration', description: 'Needs the admin token.' },
        { name: 'operation', description: 'Health, metrics and this document.' },
      ],
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description: "The admin token, or a caller's token.",
          },
          forwardAuthToken: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Tidegate-Token',
            description: "The proxy's token: Authorization belongs to the client of the proxy.",
          },
        },
      },
    },
    transformObject: (document) =>
      completeDocument('openapiObject' in document ? document.openapiObject : document.swaggerObject),
  })
  const methods = new Map<string, string[]>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()])
  })
  for (const addRoutes of [
    checkRoutes,
    batchRoutes,
    remainingRoutes,
    refundRoutes,
    reservationRoutes,
    slotRoutes,
    forwardAuthRoutes,
    resetRoutes,
    adminRoutes,
    liveRoutes,
    keysRoutes,
    raceRoutes,
    actuatorRoutes,
    rlsRoutes,
    homeRoutes,
    docsRoutes,
  ]) {
    addRoutes(app, service)
  }
  app.setNotFoundHandler((request, reply) => {
    const error = notFound(methods, request)
    if (error.status === 404 && isOpenedInBrowser(request)) sendNotFoundPage(request, reply)
    else sendError(error, request, reply)
  })
  await app.ready()
  return app
}

function notFound(methods: ReadonlyMap<string, readonly string[]>, request: FastifyRequest): HttpError {
  const allowed = methods.get(pathOf(request))
  if (allowed === undefined)
    return new HttpError(404, `Unknown path ${show(pathOf(request))}; see /docs for all routes.`)
  const allow = allowed.toSorted().join(', ')
  return new HttpError(405, `${request.method} is not allowed for this path; use ${allow}.`, {
    headers: { allow },
  })
}
