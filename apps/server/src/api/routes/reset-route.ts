import type { FastifyInstance } from 'fastify'
import { badRequest } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { ADMIN, BAD_REQUEST, CHECK_FIELDS, errors, FOR_ADMINS, UNKNOWN_POLICY } from '../openapi/schemas.js'
import { adminsOnly } from '../request/access.js'
import { assertNoBody } from '../request/no-body.js'
import { assertClientKey, type CheckInput, findPolicy } from '../request/parse-check.js'
import { whenDecided } from '../response/respond.js'

const schema = {
  operationId: 'resetKey',
  tags: ['administration'],
  summary: 'Resets a key in one policy or in all.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    required: ['key'],
    properties: {
      key: { ...CHECK_FIELDS.key, description: 'The key to reset.' },
      policy: { type: 'string', description: 'The name of a policy. Default: every active policy.' },
      algorithm: CHECK_FIELDS.algorithm,
    },
  },
  response: {
    200: {
      title: 'Reset',
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
    503: errors('Store unavailable: the key may still have its counts.'),
  },
}

export function resetRoutes(app: FastifyInstance, service: Service): void {
  app.delete('/api/v1/rate-limit/reset', { onRequest: adminsOnly(service), schema }, (request, reply) => {
    assertNoBody(request)
    const { activeConfig } = request
    const { store } = service
    const { key, ...which } = request.query as CheckInput
    if (key === undefined) throw badRequest('key', 'key is missing; send the key to reset.')
    assertClientKey(key)
    const isOne = which.policy !== undefined || which.algorithm !== undefined
    const policies = isOne ? [findPolicy(activeConfig, which, null)] : [...activeConfig.policies.values()]
    const resets = policies.map(({ policy }) => store.reset({ policy, key }))
    const all = resets.some((reset) => reset instanceof Promise) ? Promise.all(resets) : resets
    whenDecided<unknown>(all, reply, () => {
      reply.send({ key, policies: policies.map(({ policy }) => policy.name), message: 'Reset' })
    })
  })
}
