import type { MaybePromise, Store } from '@tidegate/core'
import {
  defineRateLimit,
  type LimitDecision,
  type RateLimitRule,
  type RequestOutcome,
  type Template,
} from '@tidegate/http'
import type { GatewayRequest, Route, RouteDecision, RouteLimits } from '../route.js'

/*
 * All limits of a route are decided together, all or nothing. Decisions, headers and bodies are the same as those of the
 * `rateLimit` middleware.
 */

/** Called for each decision, to record it by policy. */
export type OnDecision = (limit: LimitDecision, seconds: number) => void

interface TimedRequest {
  readonly facts: GatewayRequest
  readonly startMs: number
}

export function createRouteLimiter(
  routeId: string,
  { limits, status, queue }: RouteLimits,
  store: Store,
  onDecision: OnDecision,
): Route['limiter'] {
  if (limits.length === 0) return undefined
  const mayLackKey = limits.filter(({ emptyKeyStatus, key }) => emptyKeyStatus !== undefined && canLack(key))
  const usesRoute = limits.some(({ key }) => /\broute\b/.test(key.text))
  const { check } = defineRateLimit<TimedRequest>(
    {
      store,
      rules: limits.map(({ policy, key, cost, rule }): RateLimitRule<TimedRequest> => {
        const limit = { policy, key, cost }
        return rule === undefined ? limit : { ...limit, name: rule.name, match: rule.match }
      }),
      status,
      queue,
      onDecision({ request: { startMs }, limits }) {
        const seconds = (performance.now() - startMs) / 1000
        for (const limit of limits) onDecision(limit, seconds)
      },
      // Misuse warnings are about code; the configuration was validated.
      warnings: false,
    },
    {
      reader: { facts: ({ facts }) => facts, identity: ({ facts }) => facts },
      name: 'gateway',
      optionNames: [],
    },
  )

  return (request) => {
    const facts = usesRoute ? onRoute(request, routeId) : request
    for (const { key, rule } of limits) {
      const part = key.ambiguousPart(facts)
      if (part !== undefined && rule?.matches(facts) !== false) return rejectAmbiguousKey(part)
    }
    for (const { key, emptyKeyStatus } of mayLackKey) {
      if (key.resolve(facts) === undefined) return rejectMissingKey(emptyKeyStatus!)
    }
    const result: MaybePromise<RequestOutcome<TimedRequest>> = check({ facts, startMs: performance.now() })
    return result instanceof Promise ? result.then(routeDecisionOf) : routeDecisionOf(result)
  }
}

function routeDecisionOf({ denial, headers, holdMs, release }: RequestOutcome<TimedRequest>): RouteDecision {
  if (denial === undefined) return { denial: undefined, headers, holdMs, release }
  const { contentType, body } = denial.defaultResponse()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { denial: { status: denial.status, contentType, body: text }, headers, holdMs }
}

/** Rejects a request whose upstream could read another value than the one that is counted. */
export function rejectAmbiguousKey(part: string): RouteDecision {
  const message = `The request has several different values of ${part}; send one.`
  return {
    denial: {
      status: 400,
      contentType: 'application/json',
      body: JSON.stringify({ error: 'bad_request', message }),
    },
    headers: { 'cache-control': 'no-store' },
    holdMs: 0,
  }
}

/** Rejects a request without a key, as Spring does. The request is not counted. */
function rejectMissingKey(status: number): RouteDecision {
  const body = JSON.stringify({
    error: 'rate_limit_key_missing',
    message: 'The request has no value for the rate limit key.',
  })
  return {
    denial: { status, contentType: 'application/json', body },
    headers: { 'cache-control': 'no-store' },
    holdMs: 0,
  }
}

/** Whether a request can lack this key. Tests a request without headers and address. */
function canLack(key: Template): boolean {
  return key.resolve({ method: 'GET', path: '/', query: '', header: () => undefined }) === undefined
}

/** The request with the id of its route. */
export function onRoute(request: GatewayRequest, route: string): GatewayRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: (name) => request.header(name),
    headerLines: (name) => request.headerLines?.(name) ?? [],
    get ip() {
      return request.ip
    },
    route,
    get address() {
      return request.address
    },
    timeMs: request.timeMs,
  }
}
