import type { FastifyInstance } from 'fastify'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { assertNoBody } from './no-body.js'
import { ADMIN, BAD_REQUEST, FOR_ADMINS, noQuery } from './schemas.js'

const schema = {
  tags: ['administration'],
  summary: 'The policies, rules and routes in force.',
  security: ADMIN,
  querystring: noQuery,
  response: {
    200: {
      type: 'object',
      properties: {
        default: { type: 'string' },
        policies: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              algorithm: { type: 'string' },
              limit: { type: 'integer', description: 'Units per window, or what a bucket holds.' },
              window: { type: 'number', description: 'Windows: milliseconds.' },
              refillRate: {
                type: ['number', 'string'],
                description: 'Token bucket: per second, or as 100/1m.',
              },
              leakRate: {
                type: ['number', 'string'],
                description: 'Leaky bucket: per second, or as 100/1m.',
              },
              onStoreFailure: { type: 'string' },
              instances: { type: 'integer' },
            },
          },
        },
        rules: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              match: {
                type: 'object',
                description: 'Which requests; empty for all.',
                additionalProperties: true,
              },
              key: { type: 'string' },
              policy: { type: 'string' },
              cost: { type: 'integer' },
            },
          },
        },
        routes: {
          type: 'array',
          description: 'Of the gateway, in the order in which they are asked.',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              order: { type: 'integer' },
              upstreams: { type: 'array', items: { type: 'string' } },
              limits: {
                type: 'array',
                description: 'What a request on this route takes, all or nothing.',
                items: {
                  type: 'object',
                  properties: {
                    policy: { type: 'string' },
                    key: { type: 'string' },
                    cost: { type: 'integer' },
                    rule: { type: 'string' },
                  },
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

export function adminRoutes(app: FastifyInstance, service: Service): void {
  app.get('/api/v1/admin/policies', { onRequest: adminsOnly(service), schema }, (request, reply) => {
    assertNoBody(request)
    reply.send(policiesOf(service.inForce))
  })
}

function policiesOf({ config, policies, defaultPolicy }: InForce): object {
  return {
    default: defaultPolicy.policy.name,
    policies: [...policies.values()].map(({ policy, algorithm }) => {
      return { ...policy, limit: policy.limit, algorithm }
    }),
    rules: config.rules.map(({ name, match, key, policy, cost }) => {
      return { name, match, key: key.text, policy: policy.name, cost }
    }),
    routes: [...(config.gateway?.routes ?? [])]
      .sort((a, b) => a.order - b.order)
      .map(({ id, order, upstreams, limits: { limits } }) => ({
        id,
        order,
        upstreams,
        limits: limits.map(({ policy, key, cost, rule }) => {
          return { policy: policy.name, key: key.text, cost, rule: rule?.name }
        }),
      })),
  }
}
