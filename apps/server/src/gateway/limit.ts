import type { MaybePromise, Policy, Store } from '@tidegate/core'
import {
  defineRateLimit,
  type Ruling as HttpRuling,
  type LimitCounted,
  type RateLimitRule,
  type Rule,
  type Template,
} from '@tidegate/http'
import type { GatewayRequest, Route, Ruling } from './route.js'

/*
 * All limits of a route are one decision, all or nothing. What is decided, and what is said of it in headers and bodies,
 * is what `rateLimit` does in front of an application.
 */

export interface RouteLimit {
  readonly policy: Policy
  readonly key: Template
  readonly cost: number
  /** Of a rule of the file: which requests it counts. */
  readonly rule?: Rule
  /** The status for a request without a key. Undefined: it is not counted. */
  readonly emptyKeyStatus?: number
}

export interface RouteLimits {
  readonly limits: readonly RouteLimit[]
  /** Of a refusal. */
  readonly status: number
  readonly queue: boolean
}

/** What is done with each decision: it is counted by policy. */
export type OnDecision = (counted: LimitCounted, seconds: number) => void

interface Asked {
  readonly facts: GatewayRequest
  readonly startMs: number
}

export function createLimit(
  routeId: string,
  { limits, status, queue }: RouteLimits,
  store: Store,
  onDecision: OnDecision,
): Route['limit'] {
  if (limits.length === 0) return undefined
  const mayLackKey = limits.filter(({ emptyKeyStatus, key }) => emptyKeyStatus !== undefined && canLack(key))
  const knowsRoute = limits.some(({ key }) => /\broute\b/.test(key.text))
  const { decide } = defineRateLimit<Asked>(
    {
      store,
      rules: limits.map(({ policy, key, cost, rule }): RateLimitRule<Asked> => {
        const counted = { policy, key, cost }
        return rule === undefined ? counted : { ...counted, name: rule.name, match: rule.match }
      }),
      status,
      queue,
      onDecision({ request: { startMs }, limits }) {
        const seconds = (performance.now() - startMs) / 1000
        for (const counted of limits) onDecision(counted, seconds)
      },
      // They are about code; a file is checked before.
      warnings: false,
    },
    { reader: { facts: ({ facts }) => facts, identity: ({ facts }) => facts }, name: 'gateway', options: [] },
  )

  return (request) => {
    const facts = knowsRoute ? onRoute(request, routeId) : request
    for (const { key, rule } of limits) {
      const part = key.ambiguousPart(facts)
      if (part !== undefined && rule?.matches(facts) !== false) return ambiguousKey(part)
    }
    for (const { key, emptyKeyStatus } of mayLackKey) {
      if (key.resolve(facts) === undefined) return withoutKey(emptyKeyStatus!)
    }
    const ruling: MaybePromise<HttpRuling<Asked>> = decide({ facts, startMs: performance.now() })
    return ruling instanceof Promise ? ruling.then(ours) : ours(ruling)
  }
}

function ours({ refusal, headers, holdMs }: HttpRuling<Asked>): Ruling {
  if (refusal === undefined) return { refusal: undefined, headers, holdMs }
  const { contentType, body } = refusal.answer()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { refusal: { status: refusal.status, contentType, body: text }, headers, holdMs }
}

/** The upstream may read another value than the one that is counted, so the request does not pass. */
function ambiguousKey(part: string): Ruling {
  const message = `The request has several different values for ${part}. Send one.`
  return {
    refusal: {
      status: 400,
      contentType: 'application/json',
      body: JSON.stringify({ error: 'bad_request', message }),
    },
    headers: { 'cache-control': 'no-store' },
    holdMs: 0,
  }
}

/** As Spring does it: nothing is counted, and the request does not pass. */
function withoutKey(status: number): Ruling {
  const body = JSON.stringify({
    error: 'rate_limit_key_missing',
    message: 'The request does not say who is asking.',
  })
  return {
    refusal: { status, contentType: 'application/json', body },
    headers: { 'cache-control': 'no-store' },
    holdMs: 0,
  }
}

/** Whether there are requests that have no such key: the barest one says so. */
function canLack(key: Template): boolean {
  return key.resolve({ method: 'GET', path: '/', query: '', header: () => undefined }) === undefined
}

/** The same request, which knows the id of its route. */
function onRoute(request: GatewayRequest, route: string): GatewayRequest {
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
