import type { Policy } from '@tidegate/core'
import type { Rule } from '@tidegate/http'
import type { FastifyInstance } from 'fastify'
import type { ActiveConfig } from '../../active-config.js'
import type { Config } from '../../config/config.js'
import type { Service } from '../../service.js'
import { ADMIN, BAD_REQUEST, FOR_ADMINS, noQuery } from '../openapi/schemas.js'
import { adminsOnly } from '../request/access.js'
import { assertNoBody } from '../request/no-body.js'

const from = {
  title: 'Origin',
  type: 'object',
  description: 'Where the entry is defined.',
  required: ['kind'],
  properties: {
    kind: { type: 'string', enum: ['built-in', 'file', 'route'] },
    line: { type: 'integer', description: 'Line of the configuration file.' },
    route: { type: 'string', description: 'Id of the route whose filter defines the policy.' },
  },
} as const

const texts = { type: 'array', items: { type: 'string' } } as const

const schema = {
  operationId: 'listPolicies',
  tags: ['administration'],
  summary: 'Lists the active policies, rules and routes, and the result of the last reload.',
  security: ADMIN,
  querystring: noQuery,
  response: {
    200: {
      title: 'Policies',
      type: 'object',
      properties: {
        default: { type: 'string' },
        policies: {
          type: 'array',
          items: {
            title: 'Policy',
            type: 'object',
            properties: {
              name: { type: 'string' },
              algorithm: { type: 'string' },
              limit: {
                type: 'integer',
                description: 'Units per window, the capacity of a bucket, or the number of slots.',
              },
              window: {
                type: ['number', 'string'],
                description: 'Windows: length in milliseconds, or day, week, month or year.',
              },
              start: { type: 'string', description: 'Fixed window: epoch or first-request.' },
              timeZone: { type: 'string', description: 'Calendar windows: the time zone.' },
              countDenied: { type: 'boolean', description: 'Windows: whether denied requests are charged.' },
              refillRate: {
                type: ['number', 'string'],
                description: 'Token bucket: units per second, or a rate such as 100/1m.',
              },
              leakRate: {
                type: ['number', 'string'],
                description: 'Leaky bucket: units per second, or a rate such as 100/1m.',
              },
              blockFor: { type: 'number', description: 'How long a denied key is blocked, in milliseconds.' },
              lease: {
                type: 'object',
                description: 'Present if instances may lease units of busy keys.',
                properties: {
                  maxAge: { type: 'number', description: 'Milliseconds.' },
                  share: { type: 'number' },
                },
              },
              ttl: { type: 'number', description: 'Concurrency: lifetime of a slot in milliseconds.' },
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
            title: 'Rule',
            type: 'object',
            properties: {
              name: { type: 'string' },
              match: {
                type: 'object',
                description: 'Which requests the rule counts. Default: all.',
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
          description: 'Routes of the gateway, in matching order.',
          items: {
            title: 'Route',
            type: 'object',
            properties: {
              id: { type: 'string' },
              order: { type: 'integer' },
              upstreams: { type: 'array', items: { type: 'string' } },
              limits: {
                type: 'array',
                description: 'Rate limits of the route, checked all or nothing.',
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
          description: 'Null if the configuration has not been reloaded since startup.',
          properties: {
            timeMs: { type: 'number' },
            isActive: {
              type: 'boolean',
              description: 'Whether the new configuration is active. If not, the previous one still is.',
            },
            errors: texts,
            needRestart: {
              ...texts,
              description: 'Changed options that need a restart.',
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
    reply.send({ ...policiesOf(service.activeConfig), lastReload: service.lastReload ?? null })
  })
}

function policiesOf({ config, policies, defaultPolicy }: ActiveConfig): object {
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

/** The paths of a match, always as a list. */
function withPaths(match: Rule['match']): object {
  return match.path === undefined ? match : { ...match, path: [match.path].flat() }
}
