import type { FastifyInstance } from 'fastify'
import { badRequest } from '../../http/http-error.js'
import { forecastKey } from '../../live/key-forecast.js'
import type { Service } from '../../service.js'
import { ADMIN, BAD_REQUEST, CHECK_FIELDS, FOR_ADMINS } from '../openapi/schemas.js'
import { adminsOnly } from '../request/access.js'
import { assertNoBody } from '../request/no-body.js'
import { assertClientKey } from '../request/parse-check.js'

const schema = {
  operationId: 'getKey',
  tags: ['administration'],
  summary:
    'Returns the state of a key in every active policy, now and in the next minutes, without counting.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    required: ['key'],
    properties: { key: { ...CHECK_FIELDS.key, description: 'The key to look up.' } },
  },
  response: {
    200: {
      title: 'Key',
      type: 'object',
      required: ['key', 'policies'],
      properties: {
        key: { type: 'string' },
        policies: {
          type: 'array',
          items: {
            title: 'KeyState',
            type: 'object',
            properties: {
              policy: { type: 'string' },
              algorithm: { type: 'string' },
              limit: { type: 'integer' },
              allowed: { type: 'boolean', description: 'Whether a check would be allowed now.' },
              remaining: { type: ['integer', 'null'], description: 'Null while the store is unavailable.' },
              retryAfterMs: { type: 'number', description: '0 if allowed.' },
              resetAfterMs: { type: 'number', description: '0 for an unused key.' },
              reason: {
                type: 'string',
                description:
                  'Why the request is denied, if not because of the count: blocked, or slot if all slots are taken.',
              },
              degraded: {
                type: 'string',
                description: 'Only while the store is unavailable: the fallback that was used.',
              },
              ahead: {
                type: 'array',
                description: 'Units remaining after some time without checks.',
                items: {
                  type: 'object',
                  properties: { afterMs: { type: 'number' }, remaining: { type: 'integer' } },
                },
              },
            },
          },
        },
      },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
  },
}

export function keysRoutes(app: FastifyInstance, service: Service): void {
  app.get('/api/v1/admin/keys', { onRequest: adminsOnly(service), schema }, async (request) => {
    assertNoBody(request)
    const { key } = request.query as { key?: string }
    if (key === undefined) throw badRequest('key', 'key is missing; send the key to look up.')
    assertClientKey(key)
    const policies = [...service.activeConfig.policies.values()]
    const states = await Promise.all(policies.map(({ policy }) => forecastKey(service.store, policy, key)))
    return {
      key,
      policies: states.map(({ decision, ahead }, i) => {
        const { limit, allowed, remaining, retryAfterMs, resetAfterMs, reason, degraded } = decision
        return {
          policy: policies[i]!.policy.name,
          algorithm: policies[i]!.algorithm,
          limit,
          allowed,
          remaining: degraded === undefined ? remaining : null,
          retryAfterMs,
          resetAfterMs,
          reason,
          degraded,
          ahead,
        }
      }),
    }
  })
}
