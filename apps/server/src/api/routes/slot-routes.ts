import { randomUUID } from 'node:crypto'
import { type Decision, type SlotRequest, show, storeFailed } from '@tidegate/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ActivePolicy } from '../../active-config.js'
import { badRequest } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import {
  BAD_REQUEST,
  BODY_ERRORS,
  CALLER,
  CHECK_FIELDS,
  checkBody,
  denials,
  FOR_CALLERS,
  ID,
  noQuery,
  STORE_UNAVAILABLE,
  UNAVAILABLE,
  UNKNOWN_POLICY,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { withinShareOrFail } from '../request/in-flight-shares.js'
import { type CheckInput, type ParsedCheck, parseKey } from '../request/parse-check.js'
import { ALLOWED, checkBodyOf, setRateLimitHeaders } from '../response/check-body.js'
import { sendDenial, sendUnavailable } from '../response/denial.js'
import { checkOne, whenDecided } from '../response/respond.js'

const MAX_SLOTS = 1000
const MAX_BODY_BYTES = 512 * 1024
const DENIED = 'Too many requests in flight'

const key = { ...CHECK_FIELDS.key, description: CHECK_FIELDS.key.description.replace('check', 'limit') }
const policy = { ...CHECK_FIELDS.policy, description: 'The name of a concurrency policy.' }
const ERRORS = { ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY, ...BODY_ERRORS }

const slotBody = {
  title: 'Slot',
  type: 'object',
  required: checkBody.required,
  properties: {
    ...checkBody.properties,
    id: { type: 'string', description: 'Id to renew and release the slot. Absent if no slot is held.' },
    ttlSeconds: {
      type: 'integer',
      description: 'The slot expires after this time unless it is renewed. Absent if no slot is held.',
    },
  },
} as const

const acquireSchema = {
  operationId: 'acquire',
  tags: ['rate limit'],
  summary: 'Acquires a slot for a request in flight.',
  description:
    'Release the slot when the request ends. While the request runs, renew the slot every third of its ttl. Retries with the same id are safe: they hold one slot.',
  security: CALLER,
  querystring: noQuery,
  body: {
    title: 'AcquireRequest',
    type: 'object',
    additionalProperties: false,
    properties: {
      key,
      policy,
      id: {
        ...ID,
        description: 'Id of the slot, chosen by you and not by a client. Default: generated.',
      },
    },
  },
  response: { 200: slotBody, 429: denials('Every slot is taken.', slotBody), ...ERRORS, ...UNAVAILABLE },
}

/** The schema of `release` and of `renew`. `done` is the name of their result. */
function endingSchema(operationId: string, summary: string, done: string, description: string) {
  const Title = `${operationId[0]!.toUpperCase()}${operationId.slice(1)}`
  const result = { type: ['boolean', 'null'], description }
  return {
    operationId,
    tags: ['rate limit'],
    summary,
    description: `Send key, policy and id of one slot, or up to ${MAX_SLOTS.toLocaleString('en')} in slots.`,
    security: CALLER,
    querystring: noQuery,
    body: {
      title: `${Title}Request`,
      type: 'object',
      additionalProperties: false,
      properties: {
        key,
        policy,
        id: ID,
        slots: {
          type: 'array',
          minItems: 1,
          maxItems: MAX_SLOTS,
          items: {
            title: 'SlotInput',
            type: 'object',
            additionalProperties: false,
            required: ['id'],
            properties: { key, policy, id: ID },
          },
        },
      },
    },
    response: {
      200: {
        title: Title,
        type: 'object',
        properties: {
          [done]: result,
          results: {
            type: 'array',
            description: 'The results of slots, in the same order.',
            items: { type: 'object', properties: { [done]: result } },
          },
        },
      },
      ...ERRORS,
      ...STORE_UNAVAILABLE,
    },
  }
}

const releaseSchema = endingSchema(
  'release',
  'Releases slots.',
  'released',
  'False if the slot was no longer held; null if the store was unavailable.',
)

const renewSchema = endingSchema(
  'renew',
  'Renews slots for another ttl.',
  'renewed',
  'False if the slot was no longer held, and is not held now; null if the store was unavailable.',
)

interface SlotInput extends CheckInput {
  readonly id?: string
}

interface SlotsInput extends SlotInput {
  readonly slots?: readonly SlotInput[]
}

export function slotRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)
  const bodyLimit = MAX_BODY_BYTES

  app.post('/api/v1/rate-limit/acquire', { onRequest, schema: acquireSchema }, (request, reply) =>
    acquire(service, (request.body ?? {}) as SlotInput, request, reply),
  )

  app.post(
    '/api/v1/rate-limit/release',
    { onRequest, schema: releaseSchema, bodyLimit },
    (request, reply) => {
      const release = (slots: readonly SlotRequest[]) => service.store.release(slots)
      endSlots(service, request, reply, release, 'released')
    },
  )

  app.post('/api/v1/rate-limit/renew', { onRequest, schema: renewSchema, bodyLimit }, (request, reply) => {
    const renew = (slots: readonly SlotRequest[]) => service.store.renew(slots)
    endSlots(service, request, reply, renew, 'renewed')
  })
}

function acquire(
  service: Service,
  { id = randomUUID(), ...input }: SlotInput,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { activePolicy, key } = parseKey(input, request)
  assertConcurrency(activePolicy)
  const parsed: ParsedCheck = {
    activePolicy,
    takeRequest: { policy: activePolicy.policy, key, cost: 1, id },
  }
  checkOne(service, parsed, request, reply, (decision) => sendSlot(parsed, decision, request, reply))
}

function sendSlot(
  parsed: ParsedCheck,
  decision: Decision,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { policy } = parsed.activePolicy
  setRateLimitHeaders([{ decision, policy }], reply)
  const { allowed, degraded, id } = decision
  if (!allowed && degraded === 'closed') return void sendUnavailable(request, reply, decision)
  const body = checkBodyOf(parsed, decision, allowed ? ALLOWED : DENIED)
  if (!allowed) sendDenial(body, decision, request, reply)
  // A fallback holds no slot, or one of this process that only its ttl ends.
  else if (id === undefined || degraded !== undefined || policy.algorithm !== 'concurrency') reply.send(body)
  else reply.send({ ...body, id, ttlSeconds: Math.floor(policy.ttl / 1000) })
}

/** Releases or renews the slots of a request, and responds with a result for each. */
function endSlots(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  end: (slots: readonly SlotRequest[]) => ReturnType<Service['store']['renew']>,
  done: 'released' | 'renewed',
): void {
  const { slots, ...one } = (request.body ?? {}) as SlotsInput
  const parsed = slots === undefined ? [parseSlot(one, request)] : parseSlots(slots, one, request)
  const results = withinShareOrFail(service, request, parsed.length, () => end(parsed))
  whenDecided(
    results,
    reply,
    (results) => {
      if (results.every((result) => result === undefined)) throw STORE_DOWN
      const bodies = results.map((result) => ({ [done]: result ?? null }))
      reply.send(slots === undefined ? bodies[0] : { results: bodies })
    },
    (results) => {
      service.apiMetrics.recordSlots(done, results.filter((result) => result === true).length)
      service.apiMetrics.recordSlots('gone', results.filter((result) => result === false).length)
    },
  )
}

const STORE_DOWN = storeFailed('unreachable', 'The store is unavailable.')

function parseSlots(slots: readonly SlotInput[], others: SlotInput, request: FastifyRequest): SlotRequest[] {
  const other = Object.keys(others)[0]
  if (other !== undefined) throw badRequest(other, `Send either slots or ${other}, not both.`)
  return slots.map((slot, i) => parseSlot(slot, request, `slots[${i}].`))
}

function parseSlot({ id, ...input }: SlotInput, request: FastifyRequest, at = ''): SlotRequest {
  if (id === undefined) throw badRequest(`${at}id`, `${at}id is missing; send the id of the slot.`)
  const { activePolicy, key } = parseKey(input, request, at)
  assertConcurrency(activePolicy, at)
  return { policy: activePolicy.policy, key, id }
}

/** Throws 400 for a policy without slots. */
function assertConcurrency({ policy, algorithm }: ActivePolicy, at = ''): void {
  if (policy.algorithm === 'concurrency') return
  const message = `${show(policy.name)} has no slots: its algorithm is ${algorithm}; use a policy with algorithm: concurrency.`
  throw badRequest(`${at}policy`, message)
}
