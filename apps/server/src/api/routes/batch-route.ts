import { type Decision, type MaybePromise, show } from '@tidegate/core'
import { retryAfterSeconds } from '@tidegate/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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
  noQuery,
  UNAVAILABLE,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { overloadDecision, withinShare } from '../request/in-flight-shares.js'
import { type CheckInput, type ParsedCheck, parseCheck } from '../request/parse-check.js'
import { checkBodyOf, checkMessageOf } from '../response/check-body.js'
import { sendDenial, sendUnavailable } from '../response/denial.js'
import {
  checkBodiesOf,
  closedDecisionIn,
  recordDecision,
  setDegradedHeader,
  takeAll,
  whenDecided,
} from '../response/respond.js'

const MAX_CHECKS = 1000
const MAX_BODY_BYTES = 512 * 1024

const batchBody = {
  title: 'Batch',
  type: 'object',
  required: ['allowed', 'results'],
  properties: {
    allowed: { type: 'boolean', description: 'Whether every check is allowed.' },
    results: { type: 'array', items: checkBody },
  },
} as const

const schema = {
  operationId: 'checkBatch',
  tags: ['rate limit'],
  summary: 'Checks up to 1,000 keys, each on its own or all or nothing.',
  security: CALLER,
  querystring: noQuery,
  body: {
    title: 'BatchRequest',
    type: 'object',
    additionalProperties: false,
    required: ['checks'],
    properties: {
      checks: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_CHECKS,
        examples: [[{ key: 'user:123' }]],
        items: { title: 'CheckInput', type: 'object', additionalProperties: false, properties: CHECK_FIELDS },
      },
      atomic: { type: 'boolean', default: false, description: 'If one check is denied, none is counted.' },
    },
  },
  response: {
    200: batchBody,
    429: denials('Atomic: a check was denied, and none was counted.', batchBody),
    ...BAD_REQUEST,
    ...FOR_CALLERS,
    ...BODY_ERRORS,
    ...UNAVAILABLE,
  },
}

export function batchRoutes(app: FastifyInstance, service: Service): void {
  const options = { onRequest: callersOnly(service), schema, bodyLimit: MAX_BODY_BYTES }
  app.post('/api/v1/rate-limit/check/batch', options, (request, reply) => {
    const { checks, atomic = false } = (request.body ?? {}) as { checks: CheckInput[]; atomic?: boolean }
    // Every check is validated before the first is counted.
    const parsed = checks.map((check, i) => parseCheck(check, request, `checks[${i}].`))
    service.metrics.recordBatch(parsed.length)
    if (atomic) checkTogether(service, parsed, request, reply)
    else checkEach(service, parsed, request, reply)
  })
}

function checkEach(
  service: Service,
  parsed: readonly ParsedCheck[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const start = performance.now()
  const all = withinShare(
    service,
    request,
    parsed.length,
    (): MaybePromise<Decision[]> => {
      const results = parsed.map(({ takeRequest }) => service.store.check(takeRequest))
      return results.some((result) => result instanceof Promise)
        ? Promise.all(results)
        : (results as Decision[])
    },
    () => parsed.map(overloadDecision),
  )
  whenDecided(
    all,
    reply,
    (decisions) => {
      setDegradedHeader(decisions, reply)
      const results = decisions.map((decision, i) =>
        checkBodyOf(parsed[i]!, decision, checkMessageOf(decision)),
      )
      reply.send({ allowed: results.every(({ allowed }) => allowed), results })
    },
    (decisions) => {
      for (const [i, decision] of decisions.entries()) recordDecision(service, parsed[i]!, decision, start)
    },
  )
}

function checkTogether(
  service: Service,
  parsed: readonly ParsedCheck[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  assertSumsFit(parsed)
  takeAll(service, parsed, request, reply, (outcome) => {
    setDegradedHeader(outcome.decisions, reply)
    const body = { allowed: outcome.allowed, results: checkBodiesOf(outcome) }
    if (outcome.allowed) return void reply.send(body)
    const closed = closedDecisionIn(outcome)
    if (closed !== undefined) return sendUnavailable(request, reply, closed)
    const denied = outcome.decisions.filter(
      (decision) => decision !== undefined && !decision.allowed,
    ) as Decision[]
    // A thousand limits do not fit into the rate limit headers, so only Retry-After is set.
    reply.header('retry-after', String(Math.max(1, ...denied.map(retryAfterSeconds))))
    sendDenial(
      body,
      outcome.checks.flatMap(({ activePolicy }, i) => {
        const decision = outcome.decisions[i]
        return decision === undefined ? [] : [{ decision, policy: activePolicy.policy }]
      }),
      request,
      reply,
    )
  })
}

/** Entries with the same policy and key share one limit, so the sum of their costs must fit into it. */
function assertSumsFit(parsed: readonly ParsedCheck[]): void {
  const sums = new Map<string, number>()
  parsed.forEach(({ takeRequest: { policy, key, cost } }, i) => {
    const limit = `${policy.name}:${key}`
    const sum = (sums.get(limit) ?? 0) + cost
    if (sum > policy.limit) {
      const field = `checks[${i}].permits`
      const message = `${field} makes the sum for this key ${sum}, but the limit of ${show(policy.name)} is ${policy.limit}.`
      throw badRequest(field, message)
    }
    sums.set(limit, sum)
  })
}
