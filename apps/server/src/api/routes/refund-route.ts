import type { FastifyInstance } from 'fastify'
import type { Service } from '../../service.js'
import {
  BAD_REQUEST,
  BODY_ERRORS,
  CALLER,
  CHECK_FIELDS,
  FOR_CALLERS,
  noQuery,
  STORE_UNAVAILABLE,
  UNKNOWN_POLICY,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { withinShareOrFail } from '../request/in-flight-shares.js'
import { type CheckInput, parseCheck } from '../request/parse-check.js'
import { whenDecided } from '../response/respond.js'

/** The largest time of a JavaScript date. */
const MAX_TIME_MS = 8.64e15

const schema = {
  operationId: 'refund',
  tags: ['rate limit'],
  summary: 'Gives back units of a check that was allowed.',
  description:
    'Not idempotent: each call gives units back. Gives back 0 if the check no longer counts, or while the store is unavailable.',
  security: CALLER,
  querystring: noQuery,
  body: {
    title: 'RefundRequest',
    type: 'object',
    additionalProperties: false,
    required: ['timeMs'],
    properties: {
      ...CHECK_FIELDS,
      permits: { ...CHECK_FIELDS.permits, description: 'Units to give back. Default: 1.' },
      timeMs: {
        type: 'number',
        minimum: 0,
        maximum: MAX_TIME_MS,
        description: 'timeMs of the response to the check.',
        examples: [1767225600000.125],
      },
    },
  },
  response: {
    200: {
      title: 'Refund',
      type: 'object',
      required: ['refunded'],
      properties: {
        refunded: {
          type: 'number',
          description: 'Units given back. Can be a fraction for a bucket.',
        },
      },
    },
    ...BAD_REQUEST,
    ...FOR_CALLERS,
    ...UNKNOWN_POLICY,
    ...BODY_ERRORS,
    ...STORE_UNAVAILABLE,
  },
}

export function refundRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)
  app.post('/api/v1/rate-limit/refund', { onRequest, schema }, (request, reply) => {
    const { timeMs, ...input } = request.body as CheckInput & { timeMs: number }
    const { policy, key, cost } = parseCheck(input, request).takeRequest
    const result = withinShareOrFail(service, request, 1, () =>
      service.store.refund({ policy, key, cost, timeMs }),
    )
    whenDecided(result, reply, (refunded) => reply.send({ refunded }))
  })
}
