import { TidegateError } from '@tidegate/core'
import { prefersProblem } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { badRequest, errorBody, HttpError, problemBody } from '../../http/http-error.js'
import { pathOf, sendUnavailable } from './denial.js'

/** Responds to errors of handlers, hooks, parsers and validators. */
export function errorHandler(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const isForbidden = error instanceof HttpError && error.status === 403
    if (request.is404 && !isForbidden) reply.callNotFound()
    else if (error instanceof TidegateError && error.code === 'STORE_FAILED') sendUnavailable(request, reply)
    else sendError(apiErrorOf(error) ?? internalError(error, request, log), request, reply)
  }
}

/** Responds to requests that Fastify rejects before any hook runs. */
export function respondToFrameworkError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' })
  sendError(apiErrorOf(error) ?? badRequest(undefined, 'The path is malformed.'), request, reply)
}

function internalError(error: unknown, { id, routeOptions, caller }: FastifyRequest, log: Logger): HttpError {
  const callerField = caller === null ? {} : { caller: caller.name }
  log.error({ err: error, requestId: id, route: routeOptions.url, ...callerField }, 'Request failed')
  return new HttpError(500, 'The service failed to process the request; see its log.')
}

export function sendError(error: HttpError, request: FastifyRequest, reply: FastifyReply): void {
  const isProblem = prefersProblem(request.headers.accept)
  if (error.headers !== undefined) reply.headers(error.headers)
  keepConnection(error, request, reply)
  reply
    .code(error.status)
    .type(`application/${isProblem ? 'problem+json' : 'json'}; charset=utf-8`)
    // The schema of a 429 response is that of a denied check.
    .serializer(JSON.stringify)
    .send(isProblem ? problemBody(error, pathOf(request)) : errorBody(error))
}

/** Undefined for errors that are not the client's fault. */
function apiErrorOf(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (error instanceof TidegateError) {
    const field = error.field === 'cost' ? 'permits' : error.field
    return new HttpError(error.code === 'RESERVATION_ID_USED' ? 409 : 400, error.message, { field })
  }
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (typeof code === 'string' && Object.hasOwn(FASTIFY, code)) return FASTIFY[code]!
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return undefined
  return new HttpError(statusCode, 'The request is malformed.')
}

/** Responses to Fastify's own errors. */
const FASTIFY: Readonly<Record<string, HttpError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new HttpError(
    413,
    'The body is too large: the maximum is 64 KiB, and 512 KiB for a batch.',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new HttpError(
    415,
    'The body must be JSON; send it with Content-Type: application/json.',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: badRequest(
    undefined,
    'The length of the body differs from Content-Length; send the exact length.',
  ),
  FST_ERR_BAD_URL: badRequest(undefined, 'The path contains a % that is not part of an escape; send %25.'),
}

const MAX_DRAINED_BYTES = 4 * 1024 * 1024

/**
 * Keeps the connection open while the rest of a rejected body is short enough to be read and discarded: closing it at once
 * would often destroy the response.
 */
function keepConnection({ status }: HttpError, request: FastifyRequest, reply: FastifyReply): void {
  if (status === 413 && Number(request.headers['content-length']) <= MAX_DRAINED_BYTES) {
    reply.removeHeader('connection')
  }
}
