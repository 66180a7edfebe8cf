import type { Decision } from '@tidegate/core'
import { type LimitShown, prefersProblem, refusal, retryAfterSeconds, unavailable } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** 429 with what a check answers; for whoever would rather have a problem, as one. */
export function sendRefusal(
  body: object,
  refused: Decision | readonly LimitShown[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.code(429)
  if (!prefersProblem(request.headers.accept)) return void reply.send(body)
  const problem = refusal(refused, { format: 'problem', instance: pathOf(request) })
  reply.type(problem.contentType).send({ ...problem.body, ...body })
}

/** 503: the store cannot answer, and nothing says that this may pass without. */
export function sendUnavailable(request: FastifyRequest, reply: FastifyReply, decision?: Decision): void {
  const answer = unavailable({
    format: prefersProblem(request.headers.accept) ? 'problem' : 'plain',
    instance: pathOf(request),
    ...(decision === undefined ? {} : { retryAfterSeconds: retryAfterSeconds(decision) }),
  })
  reply
    .code(answer.status)
    .header('retry-after', String(answer.retryAfterSeconds))
    .type(answer.contentType)
    .send(answer.body)
}

/** What was asked for, without the query: that may hold anything. */
export function pathOf({ raw }: FastifyRequest): string {
  const url = raw.url ?? '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
