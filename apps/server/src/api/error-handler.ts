import { TidegateError } from '@tidegate/core'
import { prefersProblem } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ApiError, badRequest, errorBody, problemBody } from './api-error.js'
import { pathOf, sendUnavailable } from './refuse.js'

/** Answers what a handler, a hook, a parser or a validator has thrown. */
export function errorHandler(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    if (request.is404) reply.callNotFound()
    else if (error instanceof TidegateError && error.code === 'STORE_FAILED') sendUnavailable(request, reply)
    else sendError(apiErrorOf(error) ?? failed(error, request, log), request, reply)
  }
}

/** Answers what Fastify cannot even find a route for; no hook has seen it. */
export function answerFrameworkError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' })
  sendError(apiErrorOf(error) ?? badRequest(undefined, 'The path cannot be read.'), request, reply)
}

function failed(error: unknown, { id, routeOptions, caller }: FastifyRequest, log: Logger): ApiError {
  const who = caller === null ? {} : { caller: caller.name }
  log.error({ err: error, requestId: id, route: routeOptions.url, ...who }, 'A request failed')
  return new ApiError(500, 'Something is wrong with the service; its log says what.')
}

export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply): void {
  const isProblem = prefersProblem(request.headers.accept)
  if (error.headers !== undefined) reply.headers(error.headers)
  keepConnection(error, request, reply)
  reply
    .code(error.status)
    .type(isProblem ? 'application/problem+json' : 'application/json')
    .send(isProblem ? problemBody(error, pathOf(request)) : errorBody(error))
}

/** Undefined if it is nothing that a client could have done. */
function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof TidegateError) {
    return badRequest(error.field === 'cost' ? 'permits' : error.field, error.message)
  }
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (typeof code === 'string' && Object.hasOwn(FASTIFY, code)) return FASTIFY[code]!
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return undefined
  return new ApiError(statusCode, 'The request cannot be read.')
}

/** What Fastify finds wrong by itself. */
const FASTIFY: Readonly<Record<string, ApiError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new ApiError(
    413,
    'The body is too large: 64 KiB at most, 512 KiB for a batch.',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new ApiError(
    415,
    'Send a body as JSON, with Content-Type: application/json.',
  ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: badRequest(
    undefined,
    'The body is not as long as Content-Length says.',
  ),
  FST_ERR_BAD_URL: badRequest(undefined, 'The path has a % that begins no escape; write %25 for one.'),
}

const MAX_DRAINED_BYTES = 4 * 1024 * 1024

/**
 * A body that was refused unread is still on its way. To close the connection now would often destroy the answer
 * too; if the rest is not long, it is read and thrown away instead.
 */
function keepConnection({ status }: ApiError, request: FastifyRequest, reply: FastifyReply): void {
  if (status === 413 && Number(request.headers['content-length']) <= MAX_DRAINED_BYTES) {
    reply.removeHeader('connection')
  }
}
