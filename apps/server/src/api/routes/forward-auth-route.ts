import { METHODS } from 'node:http'
import { deniedResponse, prefersProblem } from '@tidegate/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../config/sections/callers.js'
import { HttpError } from '../../http/http-error.js'
import { onceAMinute } from '../../log/once-a-minute.js'
import type { Service } from '../../service.js'
import { BAD_REQUEST, errors, FORWARD_AUTH_CALLER, UNAVAILABLE } from '../openapi/schemas.js'
import { findCaller, type Hook, rejectToken } from '../request/access.js'
import {
  type ForwardAuthOptions,
  forwardAuthQuery,
  readForwardAuthOptions,
} from '../request/forward-auth-options.js'
import { overloadDecision, withinShare } from '../request/in-flight-shares.js'
import { matchRules } from '../request/matched-rules.js'
import { assertFromProxy, originalFacts, TOKEN_HEADER } from '../request/original-facts.js'
import { FORWARD_AUTH, type OriginalRequest, readOriginalRequest } from '../request/original-request.js'
import type { ParsedCheck } from '../request/parse-check.js'
import { setRateLimitHeaders } from '../response/check-body.js'
import { sendUnavailable } from '../response/denial.js'
import {
  closedDecisionIn,
  reportedLimits,
  type TakeOutcome,
  takeAll,
  whenDecided,
} from '../response/respond.js'

const originalHeaders = {
  type: 'object',
  properties: {
    'X-Forwarded-Method': { type: 'string', description: "The client's method.", examples: ['POST'] },
    'X-Forwarded-Uri': {
      type: 'string',
      description: "The client's path and query.",
      examples: ['/login?next=/'],
    },
    'X-Forwarded-Host': {
      type: 'string',
      description: "The client's Host header.",
      examples: ['shop.example.com'],
    },
    'X-Forwarded-For': { type: 'string', description: "The client's address.", examples: ['192.0.2.1'] },
  },
} as const

const schema = {
  operationId: 'forwardAuth',
  tags: ['rate limit'],
  summary:
    "Decides for a proxy whether its client's request is allowed, by the rules of the configuration file.",
  description:
    'For nginx (auth_request), Caddy (forward_auth), Traefik (forwardAuth), Envoy (ext_authz) and HAProxy. Accepts every method, and connections of trusted proxies only. Also reads X-Original-Method and X-Original-URI or X-Original-URL. Instead of these headers, a proxy can send the original method and append the original path and query to /api/v1/forward-auth, without options.',
  security: FORWARD_AUTH_CALLER,
  querystring: forwardAuthQuery,
  headers: originalHeaders,
  response: {
    200: { type: 'null', description: 'Allowed. Without rate limit headers if no rule matches.' },
    ...BAD_REQUEST,
    403: errors(
      'Denied, with status=403; or the peer is not a trusted proxy, or its token is missing or unknown.',
    ),
    429: errors('Denied.'),
    ...UNAVAILABLE,
  },
}

/** Node's parser rejects other methods. CONNECT has no path. */
const ANY_METHOD = METHODS.filter((method) => method !== 'CONNECT')

export function forwardAuthRoutes(app: FastifyInstance, service: Service): void {
  for (const method of ANY_METHOD) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  // The hook responds, before Fastify reads the body or parses the query, which can be the client's.
  const route = { onRequest: respondByRules(service), handler: neverCalled }
  const hidden = { ...route, schema: { hide: true } }
  app.route({ ...route, method: 'GET', url: FORWARD_AUTH, schema })
  app.route({ ...hidden, method: ANY_METHOD.filter((method) => method !== 'GET'), url: FORWARD_AUTH })
  app.route({ ...hidden, method: ANY_METHOD, url: `${FORWARD_AUTH}/*` })
}

function neverCalled(): never {
  throw new Error('forward-auth responds in its hook')
}

function respondByRules(service: Service): Hook {
  const isDue = onceAMinute<'no rules' | `${number}`>()
  const { log } = service
  return (request, reply, done) => {
    const { activeConfig, raw } = request
    const { proxies, rules } = activeConfig.config
    // The proxy sends most of these errors to its client, so the log has them for the operator.
    const reject = (error: unknown) => {
      if (error instanceof HttpError && isDue(`${error.status}`)) {
        const { status, message } = error
        log.warn({ peer: raw.socket.remoteAddress, status, reason: message }, 'Forward-auth request rejected')
      }
      done(error as Error)
    }
    try {
      assertFromProxy(raw, proxies)
      const caller = callerOf(request)
      if (caller === undefined) return rejectToken(service, request, reject, UNKNOWN_TOKEN)
      const original = readOriginalRequest(raw)
      const options = readForwardAuthOptions(raw.url ?? '', original)
      const { checks } = matchRules(activeConfig, originalFacts(raw, original, proxies), caller)
      if (rules.length === 0 && isDue('no rules')) {
        log.warn('Forward-auth allows every request: the configuration has no rules')
      }
      // A take needs at least one request.
      if (checks.length === 0) return void reply.send()
      const decide = options.isPeek ? peekAll : takeAll
      decide(service, checks, request, reply, (outcome) =>
        respond(outcome, original, options, request, reply),
      )
    } catch (error) {
      reject(error)
    }
  }
}

/** Null if no caller is configured, or for the admin token; undefined for an unknown token. */
function callerOf({ activeConfig: { tokens }, raw }: FastifyRequest): Caller | null | undefined {
  if (tokens.callers.length === 0) return null
  const token = raw.headers[TOKEN_HEADER]
  if (typeof token !== 'string') throw NO_TOKEN
  return findCaller(tokens, token)
}

// Not 401, which proxies send to their client: the client has no token to send.
const NO_TOKEN = new HttpError(
  403,
  'X-Tidegate-Token is missing; let the proxy set it to the token of a caller in the configuration.',
)
const UNKNOWN_TOKEN = new HttpError(
  403,
  'X-Tidegate-Token has an unknown token; let the proxy set it to the token of a caller in the configuration.',
)

/** Decides on each check without counting. */
function peekAll(
  service: Service,
  checks: readonly ParsedCheck[],
  request: FastifyRequest,
  reply: FastifyReply,
  respond: (outcome: TakeOutcome) => void,
): void {
  const decisions = withinShare(
    service,
    request,
    checks.length,
    () => Promise.all(checks.map(({ takeRequest }) => service.store.peek(takeRequest))),
    () => checks.map(overloadDecision),
  )
  whenDecided(decisions, reply, (decisions) => {
    respond({ checks, allowed: decisions.every(({ allowed }) => allowed), decisions })
  })
}

/** A denial has the body that middleware sends, because proxies send it to their client. */
function respond(
  outcome: TakeOutcome,
  { target }: OriginalRequest,
  { status }: ForwardAuthOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const limits = reportedLimits(outcome)
  setRateLimitHeaders(limits, reply)
  if (outcome.allowed) {
    reply.send()
    return
  }
  const [instance] = target.split('?', 1)
  const closed = closedDecisionIn(outcome)
  if (closed !== undefined) {
    sendUnavailable(request, reply, closed, instance)
    return
  }
  const format = prefersProblem(request.headers.accept) ? 'problem' : 'plain'
  const { body, contentType } = deniedResponse(limits, { format, instance })
  reply
    .code(status)
    .type(contentType)
    .serializer(JSON.stringify)
    .send(format === 'problem' ? { ...body, status } : body)
}
