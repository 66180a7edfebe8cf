import type { Decision } from '@tidegate/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { badRequest } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import {
  BAD_REQUEST,
  BODY_ERRORS,
  CALLER,
  CHECK_FIELDS,
  checkBody,
  checkQuery,
  denials,
  FOR_CALLERS,
  UNAVAILABLE,
  UNKNOWN_POLICY,
} from '../openapi/schemas.js'
import { callersOnly } from '../request/access.js'
import { assertNoBody } from '../request/no-body.js'
import { type CheckInput, type ParsedCheck, parseCheck } from '../request/parse-check.js'
import { ALLOWED, checkBodyOf, DENIED, setRateLimitHeaders } from '../response/check-body.js'
import { sendDenial, sendUnavailable } from '../response/denial.js'
import { checkOne } from '../response/respond.js'
import { checkRules, type DescribedRequest, describedRequest, rulesBody } from './check-rules.js'

const PATH = '/api/v1/rate-limit/check'
const ERRORS = { ...BAD_REQUEST, ...FOR_CALLERS, ...UNKNOWN_POLICY, ...UNAVAILABLE }

const getSchema = {
  operationId: 'checkKey',
  tags: ['rate limit'],
  summary: 'Checks a key and counts it if allowed.',
  security: CALLER,
  querystring: checkQuery,
  response: { 200: checkBody, 429: denials('Denied.', checkBody), ...ERRORS },
}

/** The fields of both results: that of a key, and that of a described request. */
const checkOrRules = {
  title: 'CheckOrRules',
  type: 'object',
  properties: { ...checkBody.properties, ...rulesBody.properties },
} as const

const postSchema = {
  operationId: 'check',
  tags: ['rate limit'],
  summary: 'Checks a key or a described request, and counts it if allowed.',
  security: CALLER,
  description:
    'Send key, policy or algorithm, and permits in the query or in the body, each once. Or send request to check every matching rule of the configuration file, all or nothing.',
  querystring: checkQuery,
  body: {
    title: 'CheckRequest',
    type: 'object',
    additionalProperties: false,
    properties: { ...CHECK_FIELDS, request: describedRequest },
  },
  response: { 200: checkOrRules, 429: denials('Denied.', checkOrRules), ...ERRORS, ...BODY_ERRORS },
}

export function checkRoutes(app: FastifyInstance, service: Service): void {
  const onRequest = callersOnly(service)

  app.get(PATH, { onRequest, schema: getSchema }, (request, reply) => {
    assertNoBody(request)
    check(service, request.query as CheckInput, request, reply)
  })

  app.post(PATH, { onRequest, schema: postSchema }, (request, reply) => {
    const { request: described, ...body } = (request.body ?? {}) as CheckInput & {
      request?: DescribedRequest
    }
    const input = mergeInputs(request.query as CheckInput, body)
    if (described === undefined) return check(service, input, request, reply)
    const other = Object.entries(input).find(([, value]) => value !== undefined)
    if (other === undefined) return checkRules(service, described, request, reply)
    throw badRequest(
      other[0],
      `Send either request or ${other[0]}, not both: the rules choose keys and policies.`,
    )
  })
}

function check(service: Service, input: CheckInput, request: FastifyRequest, reply: FastifyReply): void {
  const parsed = parseCheck(input, request)
  checkOne(service, parsed, request, reply, (decision) => sendDecision(parsed, decision, request, reply))
}

function sendDecision(
  parsed: ParsedCheck,
  decision: Decision,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  setRateLimitHeaders([{ decision, policy: parsed.activePolicy.policy }], reply)
  if (decision.allowed) reply.send(checkBodyOf(parsed, decision, ALLOWED))
  else if (decision.degraded === 'closed') sendUnavailable(request, reply, decision)
  else sendDenial(checkBodyOf(parsed, decision, DENIED), decision, request, reply)
}

/** Merges the fields of the query and of the body. A field in both is rejected. */
function mergeInputs(query: CheckInput, body: CheckInput): CheckInput {
  for (const name of Object.keys(body) as (keyof CheckInput)[]) {
    if (query[name] === undefined) continue
    throw badRequest(name, `${name} is in the query and in the body; send it once.`)
  }
  return { ...query, ...body }
}
