import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import { ALGORITHM_LABELS } from '../../algorithms.js'
import type { Service } from '../../service.js'
import { PUBLIC } from '../openapi/schemas.js'

/* Health, information and metrics, under the paths of Spring Boot Actuator and under short ones. */

const health = {
  title: 'Health',
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['UP', 'DEGRADED', 'STOPPING'] },
    components: {
      type: 'object',
      properties: {
        store: {
          type: 'object',
          properties: {
            status: { type: 'string', enum: ['UP', 'DOWN'] },
            details: {
              type: 'object',
              properties: { kind: { type: 'string' }, latencyMs: { type: 'number' } },
            },
          },
        },
        rls: {
          type: 'object',
          description: 'The rate limit service for Envoy, if configured.',
          properties: {
            status: { type: 'string', enum: ['UP', 'STALE'] },
            details: {
              type: 'object',
              properties: { domains: { type: 'integer' }, rules: { type: 'integer' } },
            },
          },
        },
      },
    },
  },
} as const

const healthSchema = {
  operationId: 'getHealth',
  security: PUBLIC,
  tags: ['operation'],
  summary: 'Returns the health: DEGRADED while the store is unavailable.',
  response: { 200: health, 503: health },
}

const readySchema = {
  operationId: 'getReadiness',
  security: PUBLIC,
  tags: ['operation'],
  summary: 'Returns 503 while the service is stopping.',
  response: { 200: health, 503: health },
}

const infoSchema = {
  operationId: 'getInfo',
  security: PUBLIC,
  tags: ['operation'],
  summary: 'Returns version, algorithms and store.',
  response: {
    200: {
      title: 'Info',
      type: 'object',
      properties: {
        app: { type: 'object', properties: { name: { type: 'string' }, version: { type: 'string' } } },
        algorithms: { type: 'array', items: { type: 'string' } },
        store: { type: 'object', properties: { kind: { type: 'string' } } },
      },
    },
  },
}

const metricsSchema = {
  operationId: 'getMetrics',
  security: PUBLIC,
  tags: ['operation'],
  summary: 'Returns metrics for Prometheus.',
  response: {
    200: {
      description: 'Metrics in the text format.',
      content: { [Registry.PROMETHEUS_CONTENT_TYPE]: { schema: { type: 'string' } } },
    },
  },
}

export function actuatorRoutes(app: FastifyInstance, service: Service): void {
  const add = (
    paths: readonly string[],
    schema: object,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ) => {
    const [long = '', ...short] = paths
    app.get(long, { schema, exposeHeadRoute: true }, handler)
    for (const path of short)
      app.get(path, { schema: { ...schema, hide: true }, exposeHeadRoute: true }, handler)
  }

  add(['/actuator/health', '/healthz'], healthSchema, async (_request, reply) => sendHealth(reply, false))
  add(['/readyz'], readySchema, async (_request, reply) => sendHealth(reply, service.isStopping))
  add(['/actuator/info'], infoSchema, async () => ({
    app: { name: 'tidegate', version: service.version },
    algorithms: ALGORITHM_LABELS,
    store: { kind: service.health.storeKind },
  }))
  add(['/actuator/prometheus', '/metrics'], metricsSchema, async (_request, reply) => {
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE)
    return service.exposition()
  })

  async function sendHealth(reply: FastifyReply, isStopping: boolean): Promise<object> {
    const { isUp, latencyMs } = await service.health.probe()
    if (isStopping) reply.code(503)
    else if (!isUp) reply.code(service.activeConfig.config.health.statusWhenStoreIsDown)
    const details = { kind: service.health.storeKind, latencyMs }
    return {
      status: isStopping ? 'STOPPING' : isUp ? 'UP' : 'DEGRADED',
      components: { store: { status: isUp ? 'UP' : 'DOWN', details }, ...rlsComponent(service) },
    }
  }
}

/** STALE while the limit files have errors and the previous limits are active. */
function rlsComponent({ rls }: Service): object {
  if (rls === undefined) return {}
  const { isStale, domains, rules } = rls.status()
  return { rls: { status: isStale ? 'STALE' : 'UP', details: { domains, rules } } }
}
