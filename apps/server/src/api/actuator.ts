import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import { ALGORITHM_LABELS } from '../algorithms.js'
import type { Service } from '../service.js'

/* What machines ask that look after the service, under Spring's names and under the short ones. */

const health = {
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
      },
    },
  },
} as const

const healthSchema = {
  tags: ['operation'],
  summary: 'Whether the service is well: DEGRADED while the store does not answer.',
  response: { 200: health, 503: health },
}

const readySchema = {
  tags: ['operation'],
  summary: 'Whether requests should be sent here: not while it stops.',
  response: { 200: health, 503: health },
}

const infoSchema = {
  tags: ['operation'],
  summary: 'What runs here.',
  response: {
    200: {
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
  tags: ['operation'],
  summary: 'Metrics for Prometheus.',
  response: { 200: { type: 'string', description: 'Exposition format 0.0.4' } },
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
    const { isUp, latencyMs } = await service.health.look()
    if (isStopping) reply.code(503)
    else if (!isUp) reply.code(service.inForce.config.health.statusWhenStoreIsDown)
    const details = { kind: service.health.storeKind, latencyMs }
    return {
      status: isStopping ? 'STOPPING' : isUp ? 'UP' : 'DEGRADED',
      components: { store: { status: isUp ? 'UP' : 'DOWN', details } },
    }
  }
}
