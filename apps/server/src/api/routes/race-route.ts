import type { FastifyInstance } from 'fastify'
import { HttpError } from '../../http/http-error.js'
import { race } from '../../race/race.js'
import type { Service } from '../../service.js'
import { ADMIN, BAD_REQUEST, BODY_ERRORS, errors, FOR_ADMINS, noQuery } from '../openapi/schemas.js'
import { adminsOnly } from '../request/access.js'

const finish = {
  title: 'RaceFinish',
  type: 'object',
  required: ['admitted', 'tooMany', 'tookMs'],
  properties: {
    admitted: { type: 'integer' },
    tooMany: { type: 'integer', description: 'Checks admitted beyond the limit.' },
    tookMs: { type: 'number' },
  },
} as const

const DEFAULTS = { callers: 50, limit: 10 }

const schema = {
  operationId: 'runRace',
  tags: ['administration'],
  summary: 'Runs concurrent checks against a naive read-then-write limiter and against this one.',
  description:
    'Uses its own keys in the store, and deletes them. With the memory store the naive limiter pauses between read and write.',
  security: ADMIN,
  querystring: noQuery,
  body: {
    title: 'RaceRequest',
    type: 'object',
    additionalProperties: false,
    properties: {
      callers: {
        type: 'integer',
        minimum: 2,
        maximum: 200,
        description: `Number of concurrent checks. Default: ${DEFAULTS.callers}.`,
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        description: `Number of checks to admit. Default: ${DEFAULTS.limit}.`,
      },
    },
  },
  response: {
    200: {
      title: 'RaceResult',
      type: 'object',
      required: ['callers', 'limit', 'store', 'pauseMs', 'naive', 'ours'],
      properties: {
        callers: { type: 'integer' },
        limit: { type: 'integer' },
        store: { type: 'string' },
        pauseMs: { type: 'number', description: 'Pause of the naive limiter between read and write.' },
        naive: finish,
        ours: finish,
      },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
    409: errors('Another race is running.'),
    ...BODY_ERRORS,
    503: errors('Store unavailable.'),
  },
}

export function raceRoutes(app: FastifyInstance, service: Service): void {
  let isRunning = false
  app.post('/api/v1/admin/race', { onRequest: adminsOnly(service), schema }, async (request) => {
    const { callers, limit } = { ...DEFAULTS, ...(request.body as Partial<typeof DEFAULTS> | null) }
    if (isRunning) throw new HttpError(409, 'Another race is running; retry when it has finished.')
    isRunning = true
    const { store, counter, health, log } = service
    try {
      const result = await race({ store, counter, callers, limit })
      return { callers, limit, store: health.storeKind, pauseMs: counter.pauseMs, ...result }
    } catch (error) {
      log.warn({ err: error }, 'Race failed')
      throw new HttpError(503, 'The store was unavailable during the race; retry later.')
    } finally {
      isRunning = false
    }
  })
}
