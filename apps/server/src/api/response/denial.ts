import type { Decision } from '@tidegate/core'
import {
  deniedResponse,
  prefersProblem,
  type ReportedLimit,
  retryAfterSeconds,
  unavailableResponse,
} from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Sends 429 with the body of the check, or as a problem document if the client prefers one. */
export function sendDenial(
  body: object,
  denied: Decision | readonly ReportedLimit[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.code(429)
  if (!prefersProblem(request.headers.accept)) return void reply.send(body)
  const problem = deniedResponse(denied, { format: 'problem', instance: pathOf(request) })
  reply.type(problem.contentType).send({ ...problem.body, ...body })
}

/** Sends 503: the store is unavailable, and the policy is `closed`. */
export function sendUnavailable(
  request: FastifyRequest,
  reply: FastifyReply,
  decision?: Decision,
  instance = pathOf(request),
): void {
  const response = unavailableResponse({
    format: prefersProblem(request.headers.accept) ? 'problem' : 'plain',
    instance,
    ...(decision === undefined ? {} : { retryAfterSeconds: retryAfterSeconds(decision) }),
  })
  reply
    .code(response.status)
    .header('retry-after', String(response.retryAfterSeconds))
    .type(response.contentType)
    .send(response.body)
}

/** The path without the query, which may contain secrets. */
export function pathOf({ raw }: FastifyRequest): string {
  const url = raw.url ?? '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
