import type { FastifyInstance } from 'fastify'
import type { Service } from '../../service.js'
import {
  BAD_REQUEST,
  CALLER,
  checkBody,
  checkQuery,
  FOR_CALLERS,
  UNKNOWN_POLICY,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { overloadDecision, withinShare } from '../request/in-flight-shares.js'
import { assertNoBody } from '../request/no-body.js'
import { type CheckInput, parsePeek } from '../request/parse-check.js'
import { checkBodyOf, setRateLimitHeaders } from '../response/check-body.js'
import { whenDecided } from '../response/respond.js'

const schema = {
  operationId: 'getRemaining',
  tags: ['rate limit'],
  summary: 'Returns the result of a check without counting it.',
  security: CALLER,
  querystring: checkQuery,
  response: { 200: checkBody, ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY },
}

export function remainingRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)
  app.get('/api/v1/rate-limit/remaining', { onRequest, schema }, (request, reply) => {
    assertNoBody(request)
    const parsed = parsePeek(request.query as CheckInput, request)
    const result = withinShare(
      service,
      request,
      1,
      () => service.store.peek(parsed.takeRequest),
      () => overloadDecision(parsed),
    )
    whenDecided(result, reply, (decision) => {
      setRateLimitHeaders([{ decision, policy: parsed.activePolicy.policy }], reply)
      const message = decision.allowed ? 'Request would be allowed' : 'Request would be denied'
      // Nothing was denied, so there is no Retry-After.
      reply.removeHeader('retry-after').send(checkBodyOf(parsed, decision, message))
    })
  })
}
