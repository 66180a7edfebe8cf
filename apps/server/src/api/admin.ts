import type { Policy } from '@tidegate/core'
import type { Rule } from '@tidegate/http'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.js'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { assertNoBody } from './no-body.js'
import { ADMIN, BAD_REQUEST, FOR_ADMINS, noQuery } from './schemas.js'

const from = {
  type: 'object',
  description: 'Where it comes from.',
  required: ['kind'],
  properties: {
    kind: { type: 'string', enum: ['built-in', 'file', 'route'] },
    line: { type: 'integer', description: 'In the file.' },
    route: { type: 'string', description: 'The id of the route whose filter brings it along.' },
  },
} as const

const texts = { type: 'array', items: { type: 'string' } } as const

const schema = {
  tags: ['administration'],
  summary: 'The policies, rules and routes in force, and what came of the last reload.',
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
              keys: { type: 'string', enum: ['shown', 'secret'] },
              from,
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
                description: 'Which requests; absent: all.',
                properties: {
                  path: { type: 'array', items: { type: 'string' } },
                  methods: texts,
                  header: { type: 'object', additionalProperties: { type: 'string' } },
                },
              },
              key: { type: 'string' },
              policy: { type: 'string' },
              cost: { type: 'integer' },
              from,
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
              from,
            },
          },
        },
        lastReload: {
          type: ['object', 'null'],
          description: 'Null if the configuration was not read again since the start.',
          properties: {
            timeMs: { type: 'number' },
            isInForce: { type: 'boolean', description: 'If not, what was in force before still is.' },
            mistakes: texts,
            needRestart: {
              ...texts,
              description: 'Options that have changed, but are read at the start only.',
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
    reply.send({ ...policiesOf(service.inForce), lastReload: service.lastReload ?? null })
  })
}

function policiesOf({ config, policies, defaultPolicy }: InForce): object {
  return {
    default: defaultPolicy.policy.name,
    policies: [...policies.values()].map(({ policy, algorithm, hasSecretKeys }) => ({
      ...policy,
      limit: policy.limit,
      algorithm,
      keys: hasSecretKeys ? 'secret' : 'shown',
      from: originOf(config, policy),
    })),
    rules: config.rules.map(({ name, match, key, policy, cost }, i) => ({
      name,
      ...(Object.keys(match).length === 0 ? {} : { match: withPaths(match) }),
      key: key.text,
      policy: policy.name,
      cost,
      from: { kind: 'file', line: config.origins.rules[i] },
    })),
    routes: [...(config.gateway?.routes ?? [])]
      .sort((a, b) => a.order - b.order)
      .map(({ id, order, upstreams, line, limits: { limits } }) => ({
        id,
        order,
        upstreams,
        limits: limits.map(({ policy, key, cost, rule }) => {
          return { policy: policy.name, key: key.text, cost, rule: rule?.name }
        }),
        from: { kind: 'file', line },
      })),
  }
}

function originOf({ origins, gateway }: Config, policy: Policy): object {
  const line = origins.policies.get(policy.name)
  if (line !== undefined) return { kind: 'file', line }
  const isOwn = gateway?.policies.includes(policy)
  const route =
    isOwn && gateway?.routes.find(({ limits }) => limits.limits.some((one) => one.policy === policy))
  return route ? { kind: 'route', route: route.id } : { kind: 'built-in' }
}

/** However many there are, as a list. */
function withPaths(match: Rule['match']): object {
  return match.path === undefined ? match : { ...match, path: [match.path].flat() }
}
