import type { FastifyInstance } from 'fastify'
import { keyAhead } from '../live/key-ahead.js'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { badRequest } from './api-error.js'
import { assertClientKey } from './asking.js'
import { assertNoBody } from './no-body.js'
import { ADMIN, BAD_REQUEST, FOR_ADMINS, QUESTION } from './schemas.js'

const schema = {
  tags: ['administration'],
  summary: 'What every policy in force says of a key, now and in the next minutes. Nothing is counted.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    required: ['key'],
    properties: { key: { ...QUESTION.key, description: 'Who is looked up.' } },
  },
  response: {
    200: {
      type: 'object',
      required: ['key', 'policies'],
      properties: {
        key: { type: 'string' },
        policies: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              policy: { type: 'string' },
              algorithm: { type: 'string' },
              limit: { type: 'integer' },
              allowed: { type: 'boolean', description: 'Whether a check would be allowed now.' },
              remaining: { type: ['integer', 'null'], description: 'Null if the store has not said.' },
              retryAfterMs: { type: 'number', description: '0 if allowed.' },
              resetAfterMs: { type: 'number', description: '0 for an untouched key.' },
              degraded: { type: 'string', description: 'Only while the store fails.' },
              ahead: {
                type: 'array',
                description: 'If nobody came: how much would be there after how long.',
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
    if (key === undefined) throw badRequest('key', 'key is missing: say who is looked up.')
    assertClientKey(key)
    const policies = [...service.inForce.policies.values()]
    const states = await Promise.all(policies.map(({ policy }) => keyAhead(service.store, policy, key)))
    return {
      key,
      policies: states.map(({ decision, ahead }, i) => {
        const { limit, allowed, remaining, retryAfterMs, resetAfterMs, degraded } = decision
        return {
          policy: policies[i]!.policy.name,
          algorithm: policies[i]!.algorithm,
          limit,
          allowed,
          remaining: degraded === undefined ? remaining : null,
          retryAfterMs,
          resetAfterMs,
          degraded,
          ahead,
        }
      }),
    }
  })
}
