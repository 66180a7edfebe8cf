import type { Decision, MaybePromise } from '@tidegate/core'
import { retryAfterSeconds } from '@tidegate/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../service.js'
import { callersOnly } from './access.js'
import { bodyOf, messageOf } from './answer.js'
import { badRequest } from './api-error.js'
import { type Asked, type Question, understand } from './asking.js'
import { bodiesOf, closedOf, record, showDegraded, takeAll, whenAnswered } from './decided.js'
import { overloaded, withinShare } from './in-flight-shares.js'
import { sendRefusal, sendUnavailable } from './refuse.js'
import {
  BAD_REQUEST,
  BODY_REFUSED,
  CALLER,
  checkBody,
  FOR_CALLERS,
  noQuery,
  QUESTION,
  refusals,
  UNAVAILABLE,
} from './schemas.js'

const MAX_CHECKS = 1000
const MAX_BODY_BYTES = 512 * 1024

const batchBody = {
  type: 'object',
  required: ['allowed', 'results'],
  properties: {
    allowed: { type: 'boolean', description: 'Whether every one is.' },
    results: { type: 'array', items: checkBody },
  },
} as const

const schema = {
  tags: ['rate limit'],
  summary: 'Many checks at once, each by itself, or all or nothing.',
  security: CALLER,
  querystring: noQuery,
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['checks'],
    properties: {
      checks: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_CHECKS,
        items: { type: 'object', additionalProperties: false, properties: QUESTION },
      },
      atomic: { type: 'boolean', default: false, description: 'If one is refused, none is counted.' },
    },
  },
  response: {
    200: batchBody,
    429: refusals('Atomic: one is refused, and none was counted.', batchBody),
    ...BAD_REQUEST,
    ...FOR_CALLERS,
    ...BODY_REFUSED,
    ...UNAVAILABLE,
  },
}

export function batchRoutes(app: FastifyInstance, service: Service): void {
  const options = { onRequest: callersOnly(service), schema, bodyLimit: MAX_BODY_BYTES }
  app.post('/api/v1/rate-limit/check/batch', options, (request, reply) => {
    const { checks, atomic = false } = (request.body ?? {}) as { checks: Question[]; atomic?: boolean }
    // All of them are understood before the first is counted.
    const asked = checks.map((check, i) => understand(check, request, `checks[${i}].`))
    service.metrics.countBatch(asked.length)
    if (atomic) together(service, asked, request, reply)
    else eachByItself(service, asked, request, reply)
  })
}

function eachByItself(
  service: Service,
  asked: readonly Asked[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const start = performance.now()
  const all = withinShare(
    service,
    request,
    asked.length,
    (): MaybePromise<Decision[]> => {
      const answers = asked.map(({ take }) => service.store.check(take))
      return answers.some((answer) => answer instanceof Promise)
        ? Promise.all(answers)
        : (answers as Decision[])
    },
    () => asked.map(overloaded),
  )
  whenAnswered(
    all,
    reply,
    (decisions) => {
      showDegraded(decisions, reply)
      const results = decisions.map((decision, i) => bodyOf(asked[i]!, decision, messageOf(decision)))
      reply.send({ allowed: results.every(({ allowed }) => allowed), results })
    },
    (decisions) => {
      for (const [i, decision] of decisions.entries()) record(service, asked[i]!, decision, start)
    },
  )
}

function together(
  service: Service,
  asked: readonly Asked[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  assertSumsFit(asked)
  takeAll(service, asked, request, reply, (taken) => {
    showDegraded(taken.decisions, reply)
    const body = { allowed: taken.allowed, results: bodiesOf(taken) }
    if (taken.allowed) return void reply.send(body)
    const closed = closedOf(taken)
    if (closed !== undefined) return sendUnavailable(request, reply, closed)
    const refusing = taken.decisions.filter(
      (decision) => decision !== undefined && !decision.allowed,
    ) as Decision[]
    // A thousand limits do not fit in a header; how long to wait for all of them does.
    reply.header('retry-after', String(Math.max(1, ...refusing.map(retryAfterSeconds))))
    sendRefusal(
      body,
      taken.asked.flatMap(({ by }, i) => {
        const decision = taken.decisions[i]
        return decision === undefined ? [] : [{ decision, policy: by.policy }]
      }),
      request,
      reply,
    )
  })
}

/** Entries with the same policy and key are one limit, which could never allow more than all of itself. */
function assertSumsFit(asked: readonly Asked[]): void {
  const sums = new Map<string, number>()
  asked.forEach(({ take: { policy, key, cost } }, i) => {
    const limit = `${policy.name}:${key}`
    const sum = (sums.get(limit) ?? 0) + cost
    if (sum > policy.limit) {
      const field = `checks[${i}].permits`
      const message = `${field} makes it ${sum} for this key together, more than ${policy.name} ever allows: its limit is ${policy.limit}.`
      throw badRequest(field, message)
    }
    sums.set(limit, sum)
  })
}
