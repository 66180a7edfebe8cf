import type { FastifyInstance } from 'fastify'
import type { Service } from '../service.js'
import { callersOnly } from './access.js'
import { bodyOf, showLimits } from './answer.js'
import { type Question, understand } from './asking.js'
import { whenAnswered } from './decided.js'
import { overloaded, withinShare } from './in-flight-shares.js'
import { assertNoBody } from './no-body.js'
import { BAD_REQUEST, CALLER, checkBody, FOR_CALLERS, questionQuery, UNKNOWN_POLICY } from './schemas.js'

const schema = {
  tags: ['rate limit'],
  summary: 'What a check would answer now; nothing is counted.',
  security: CALLER,
  querystring: questionQuery,
  response: { 200: checkBody, ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY },
}

export function remainingRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)
  app.get('/api/v1/rate-limit/remaining', { onRequest, schema }, (request, reply) => {
    assertNoBody(request)
    const asked = understand(request.query as Question, request)
    const answer = withinShare(
      service,
      request,
      1,
      () => service.store.peek(asked.take),
      () => overloaded(asked),
    )
    whenAnswered(answer, reply, (decision) => {
      showLimits([{ decision, policy: asked.by.policy }], reply)
      const message = decision.allowed ? 'Request would be allowed' : 'Request would be refused'
      // Nobody was refused, so nobody has to wait.
      reply.removeHeader('retry-after').send(bodyOf(asked, decision, message))
    })
  })
}
