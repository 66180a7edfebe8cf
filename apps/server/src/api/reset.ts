import type { FastifyInstance } from 'fastify'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { badRequest } from './api-error.js'
import { assertClientKey, policyOf, type Question } from './asking.js'
import { whenAnswered } from './decided.js'
import { assertNoBody } from './no-body.js'
import { ADMIN, BAD_REQUEST, errors, FOR_ADMINS, QUESTION, UNKNOWN_POLICY } from './schemas.js'

const schema = {
  tags: ['administration'],
  summary: 'Forgets a key, in one policy or in all.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    required: ['key'],
    properties: {
      key: { ...QUESTION.key, description: 'Who is forgotten.' },
      policy: { type: 'string', description: 'The name of a policy. Default: every policy in force.' },
      algorithm: QUESTION.algorithm,
    },
  },
  response: {
    200: {
      type: 'object',
      required: ['key', 'policies', 'message'],
      properties: {
        key: { type: 'string' },
        policies: { type: 'array', items: { type: 'string' } },
        message: { type: 'string' },
      },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
    ...UNKNOWN_POLICY,
    503: errors('The store does not answer: the key may not be forgotten.'),
  },
}

export function resetRoutes(app: FastifyInstance, service: Service): void {
  app.delete('/api/v1/rate-limit/reset', { onRequest: adminsOnly(service), schema }, (request, reply) => {
    assertNoBody(request)
    const { inForce } = request
    const { store } = service
    const { key, ...which } = request.query as Question
    if (key === undefined) throw badRequest('key', 'key is missing: say who is to be forgotten.')
    assertClientKey(key)
    const isOne = which.policy !== undefined || which.algorithm !== undefined
    const policies = isOne ? [policyOf(inForce, which, null)] : [...inForce.policies.values()]
    const resets = policies.map(({ policy }) => store.reset({ policy, key }))
    const all = resets.some((reset) => reset instanceof Promise) ? Promise.all(resets) : resets
    whenAnswered<unknown>(all, reply, () => {
      reply.send({ key, policies: policies.map(({ policy }) => policy.name), message: 'Forgotten' })
    })
  })
}
