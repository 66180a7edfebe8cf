import type { Decision } from '@tidegate/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../service.js'
import { callersOnly } from './access.js'
import { ALLOWED, bodyOf, REFUSED, showLimits } from './answer.js'
import { badRequest } from './api-error.js'
import { type Asked, type Question, understand } from './asking.js'
import { checkRules, type DescribedRequest, describedRequest, rulesBody } from './check-rules.js'
import { record, whenAnswered } from './decided.js'
import { overloaded, withinShare } from './in-flight-shares.js'
import { assertNoBody } from './no-body.js'
import { sendRefusal, sendUnavailable } from './refuse.js'
import {
  BAD_REQUEST,
  BODY_REFUSED,
  CALLER,
  checkBody,
  FOR_CALLERS,
  QUESTION,
  questionQuery,
  refusals,
  UNAVAILABLE,
  UNKNOWN_POLICY,
} from './schemas.js'

const PATH = '/api/v1/rate-limit/check'
const ERRORS = { ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY, ...UNAVAILABLE }

const getSchema = {
  tags: ['rate limit'],
  summary: 'May this request pass? If so, it is counted.',
  security: CALLER,
  querystring: questionQuery,
  response: { 200: checkBody, 429: refusals('It may not pass.', checkBody), ...ERRORS },
}

/** Nothing is required here: there is key to limit for a key, and matched to results for a request. */
const answers = {
  type: 'object',
  properties: { ...checkBody.properties, ...rulesBody.properties },
} as const

const postSchema = {
  tags: ['rate limit'],
  summary: 'May this request pass? If so, it is counted.',
  security: CALLER,
  description:
    'Give key, policy or algorithm, and permits in the query or in the body, each once. Or give request, and every rule of the file that matches it is checked, all or nothing.',
  querystring: questionQuery,
  body: {
    type: 'object',
    additionalProperties: false,
    properties: { ...QUESTION, request: describedRequest },
  },
  response: { 200: answers, 429: refusals('It may not pass.', answers), ...ERRORS, ...BODY_REFUSED },
}

export function checkRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)

  app.get(PATH, { onRequest, schema: getSchema }, (request, reply) => {
    assertNoBody(request)
    check(service, request.query as Question, request, reply)
  })

  app.post(PATH, { onRequest, schema: postSchema }, (request, reply) => {
    const { request: described, ...body } = (request.body ?? {}) as Question & { request?: DescribedRequest }
    const question = onceOnly(request.query as Question, body)
    if (described === undefined) return check(service, question, request, reply)
    const other = Object.entries(question).find(([, value]) => value !== undefined)
    if (other === undefined) return checkRules(service, described, request, reply)
    throw badRequest(other[0], `Give request or ${other[0]}, not both: the rules say what is counted.`)
  })
}

function check(service: Service, question: Question, request: FastifyRequest, reply: FastifyReply): void {
  const asked = understand(question, request)
  const start = performance.now()
  whenAnswered(
    withinShare(
      service,
      request,
      1,
      () => service.store.check(asked.take),
      () => overloaded(asked),
    ),
    reply,
    (decision) => answer(asked, decision, request, reply),
    (decision) => record(service, asked, decision, start),
  )
}

function answer(asked: Asked, decision: Decision, request: FastifyRequest, reply: FastifyReply): void {
  showLimits([{ decision, policy: asked.by.policy }], reply)
  if (decision.allowed) reply.send(bodyOf(asked, decision, ALLOWED))
  else if (decision.degraded === 'closed') sendUnavailable(request, reply, decision)
  else sendRefusal(bodyOf(asked, decision, REFUSED), decision, request, reply)
}

function onceOnly(query: Question, body: Question): Question {
  for (const name of Object.keys(body) as (keyof Question)[]) {
    if (query[name] === undefined) continue
    throw badRequest(name, `${name} is given in the query and in the body; give it once.`)
  }
  return { ...query, ...body }
}
