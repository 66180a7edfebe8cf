import type { FastifyInstance } from 'fastify'
import { race } from '../race/race.js'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { ApiError } from './api-error.js'
import { ADMIN, BAD_REQUEST, BODY_REFUSED, errors, FOR_ADMINS, noQuery } from './schemas.js'

const finish = {
  type: 'object',
  required: ['admitted', 'tooMany', 'tookMs'],
  properties: {
    admitted: { type: 'integer' },
    tooMany: { type: 'integer', description: 'Beyond the limit.' },
    tookMs: { type: 'number' },
  },
} as const

const DEFAULTS = { callers: 50, limit: 10 }

const schema = {
  tags: ['administration'],
  summary: 'A race: a limiter that reads and then writes, against the one that runs here.',
  description:
    'Writes to the store, under keys of its own that are gone again. On memory the first pauses between reading and writing.',
  security: ADMIN,
  querystring: noQuery,
  body: {
    type: 'object',
    additionalProperties: false,
    properties: {
      callers: {
        type: 'integer',
        minimum: 2,
        maximum: 200,
        description: `How many ask at once. Default: ${DEFAULTS.callers}.`,
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        description: `How many should be admitted. Default: ${DEFAULTS.limit}.`,
      },
    },
  },
  response: {
    200: {
      type: 'object',
      required: ['callers', 'limit', 'store', 'pauseMs', 'naive', 'ours'],
      properties: {
        callers: { type: 'integer' },
        limit: { type: 'integer' },
        store: { type: 'string' },
        pauseMs: { type: 'number', description: 'Between reading and writing, on purpose.' },
        naive: finish,
        ours: finish,
      },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
    409: errors('Another race is running.'),
    ...BODY_REFUSED,
    503: errors('The store does not answer.'),
  },
}

export function raceRoutes(app: FastifyInstance, service: Service): void {
  let isRunning = false
  app.post('/api/v1/admin/race', { onRequest: adminsOnly(service), schema }, async (request) => {
    const { callers, limit } = { ...DEFAULTS, ...(request.body as Partial<typeof DEFAULTS> | null) }
    if (isRunning) throw new ApiError(409, 'Another race is running; try again when it is over.')
    isRunning = true
    const { store, counter, health, log } = service
    try {
      const result = await race({ store, counter, callers, limit })
      return { callers, limit, store: health.storeKind, pauseMs: counter.pauseMs, ...result }
    } catch (error) {
      log.warn({ err: error }, 'A race was not finished')
      throw new ApiError(503, 'The store did not answer while the race ran; try again later.')
    } finally {
      isRunning = false
    }
  })
}
