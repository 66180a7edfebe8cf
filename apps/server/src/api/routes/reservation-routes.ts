import { randomUUID } from 'node:crypto'
import type { ReserveOptions, ReserveResult, SettleResult } from '@tidegate/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../../service.js'
import {
  BAD_REQUEST,
  BODY_ERRORS,
  CALLER,
  CHECK_FIELDS,
  checkBody,
  denials,
  errors,
  FOR_CALLERS,
  ID,
  noQuery,
  STORE_UNAVAILABLE,
  UNAVAILABLE,
  UNKNOWN_POLICY,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { overloadDecision, withinShare, withinShareOrFail } from '../request/in-flight-shares.js'
import { assertRate, type CheckInput, type ParsedCheck, parseKey } from '../request/parse-check.js'
import { checkBodyOf, checkMessageOf, setRateLimitHeaders } from '../response/check-body.js'
import { sendDenial, sendUnavailable } from '../response/denial.js'
import { recordDecision, whenDecided } from '../response/respond.js'

const { key, policy, algorithm } = CHECK_FIELDS
const ERRORS = { ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY, ...BODY_ERRORS }
const RESERVATION_ID = { ...ID, pattern: '^[!-~]+$' } as const

const reservationBody = {
  title: 'Reservation',
  type: 'object',
  required: [...checkBody.required, 'id', 'reserved'],
  properties: {
    ...checkBody.properties,
    id: { type: 'string', description: 'Id to settle or cancel the reservation.' },
    reserved: { type: 'integer', description: 'Reserved units: permits, at most the limit.' },
    repeated: {
      type: 'boolean',
      description:
        'Present if this id was reserved before: nothing more was reserved, and this is the first response.',
    },
  },
} as const

const reserveSchema = {
  operationId: 'reserve',
  tags: ['rate limit'],
  summary: 'Reserves units for a cost that is known later.',
  description:
    'Settle the reservation with the units that were actually used, or cancel it. After the ttl, the reserved units stay consumed. Retries with the same id and permits are safe: nothing more is reserved while the reservation is open.',
  security: CALLER,
  querystring: noQuery,
  body: {
    title: 'ReserveRequest',
    type: 'object',
    additionalProperties: false,
    properties: {
      key,
      policy,
      algorithm,
      permits: {
        type: 'integer',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The expected units. More than the limit reserves the limit. Default: 1.',
      },
      id: {
        ...RESERVATION_ID,
        description:
          'Id of the reservation: printable ASCII without spaces, chosen by you and not by a client. Default: generated.',
      },
      ttl: {
        type: ['string', 'integer'],
        description: 'How long the reservation stays open: 1s to 1d, or milliseconds. Default: 10m.',
        examples: ['10m'],
      },
    },
  },
  response: {
    200: reservationBody,
    429: denials('Denied: nothing is reserved.', reservationBody),
    ...ERRORS,
    409: errors('The id was used before: its reservation has ended, or has other permits.'),
    ...UNAVAILABLE,
  },
}

const settlementBody = {
  title: 'Settlement',
  type: 'object',
  required: ['settled'],
  properties: {
    settled: { type: 'boolean', description: 'False if the reservation had already ended, or is unknown.' },
    refunded: { type: 'number', description: 'Units given back. Can be a fraction for a bucket.' },
    charged: { type: 'integer', description: 'Units charged in addition to the reserved ones.' },
    overBy: { type: 'integer', description: 'Units used beyond the limit.' },
    reason: {
      type: 'string',
      enum: ['ended', 'unknown'],
      description: 'The reason if nothing was settled.',
    },
  },
} as const

const settleSchema = {
  operationId: 'settle',
  tags: ['rate limit'],
  summary: 'Ends a reservation with the units that were actually used.',
  description:
    'Only the first settle or cancel of an id has an effect, so retries after a timeout are safe. An unknown id cannot be reserved for a minute.',
  security: CALLER,
  querystring: noQuery,
  body: {
    title: 'SettleRequest',
    type: 'object',
    additionalProperties: false,
    required: ['id', 'actual'],
    properties: {
      key,
      policy,
      algorithm,
      id: RESERVATION_ID,
      actual: {
        type: 'integer',
        minimum: 0,
        maximum: 999_999_999_999_999,
        description: 'Units that were actually used; 0 cancels.',
        examples: [1203],
      },
    },
  },
  response: { 200: settlementBody, ...ERRORS, ...STORE_UNAVAILABLE },
}

const { actual: _, ...cancelFields } = settleSchema.body.properties

const cancelSchema = {
  ...settleSchema,
  operationId: 'cancel',
  summary: 'Ends a reservation and gives all its units back.',
  body: { ...settleSchema.body, title: 'CancelRequest', required: ['id'], properties: cancelFields },
}

type ReserveInput = CheckInput & Pick<ReserveOptions, 'id' | 'ttl'>
type SettleInput = CheckInput & { readonly id: string; readonly actual?: number }

export function reservationRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)

  app.post('/api/v1/rate-limit/reserve', { onRequest, schema: reserveSchema }, (request, reply) =>
    reserve(service, (request.body ?? {}) as ReserveInput, request, reply),
  )
  app.post('/api/v1/rate-limit/settle', { onRequest, schema: settleSchema }, (request, reply) =>
    settle(service, request.body as SettleInput, request, reply),
  )
  app.post('/api/v1/rate-limit/cancel', { onRequest, schema: cancelSchema }, (request, reply) =>
    settle(service, request.body as SettleInput, request, reply),
  )
}

function reserve(
  service: Service,
  { id = randomUUID(), ttl, permits = 1, ...input }: ReserveInput,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { activePolicy, key } = parseKey(input, request)
  assertRate(activePolicy)
  const parsed: ParsedCheck = {
    activePolicy,
    takeRequest: { policy: activePolicy.policy, key, cost: permits },
  }
  const options = ttl === undefined ? { id } : { id, ttl }
  const start = performance.now()
  const result = withinShare<ReserveResult>(
    service,
    request,
    1,
    () => service.store.reserve([parsed.takeRequest], options),
    () => ({ id, allowed: false, decisions: [overloadDecision(parsed)], retryAfterMs: 1000, delayMs: 0 }),
  )
  whenDecided(
    result,
    reply,
    (result) => sendReservation(parsed, result, request, reply),
    ({ decisions }) => recordDecision(service, parsed, decisions[0]!, start),
  )
}

function sendReservation(
  parsed: ParsedCheck,
  { id, decisions }: ReserveResult,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const decision = decisions[0]!
  setRateLimitHeaders([{ decision, policy: parsed.activePolicy.policy }], reply)
  const { allowed, degraded, reserved = 0, repeated } = decision
  const body = { ...checkBodyOf(parsed, decision, checkMessageOf(decision)), id, reserved, repeated }
  if (allowed) reply.send(body)
  else if (degraded === 'closed') sendUnavailable(request, reply, decision)
  else sendDenial(body, decision, request, reply)
}

/** Without `actual`, cancels. */
function settle(
  service: Service,
  { id, actual = 0, ...input }: SettleInput,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { activePolicy, key } = parseKey(input, request)
  assertRate(activePolicy)
  const results = withinShareOrFail<SettleResult[]>(service, request, 1, () =>
    service.store.settle([{ policy: activePolicy.policy, key }], id, [actual]),
  )
  whenDecided(
    results,
    reply,
    ([result]) => reply.send(result),
    ([result]) => service.apiMetrics.recordSettlement(result!.settled ? 'settled' : result!.reason),
  )
}
