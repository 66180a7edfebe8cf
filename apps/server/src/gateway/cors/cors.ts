import { type PathPattern, pathReadings } from '@tidegate/http'
import type { GatewayRequest } from '../route.js'

/*
 * Cross-origin requests of browsers, handled as in Spring. A preflight never reaches a route, so it is not counted.
 */

/** The pages that may call the paths of a pattern. */
export interface CorsRule {
  readonly pattern: PathPattern
  /** Whether every origin is allowed, without credentials. */
  readonly allowsAll: boolean
  readonly allowsOrigin: (origin: string) => boolean
  /** Undefined: every method. */
  readonly methods: ReadonlySet<string> | undefined
  /** Names in lower case. Undefined: every header. */
  readonly headers: ReadonlySet<string> | undefined
  readonly exposedHeaders: readonly string[]
  readonly allowCredentials: boolean
  readonly maxAgeSeconds: number
}

export type CorsHeaders = Readonly<Record<string, string>>

export interface CorsDecision {
  /** Whether `headers` are the whole response. */
  readonly isPreflight: boolean
  /** Undefined: the origin, the method or a header is not allowed. */
  readonly headers: CorsHeaders | undefined
}

/** In all responses of a path with a rule, because a shared cache could otherwise give them to pages that cannot read them. */
export const VARY_BY_ORIGIN: CorsHeaders = { vary: 'Origin' }

/** Rate limit headers that every allowed page may read, also in a denial. */
const RATE_LIMIT_HEADERS = [
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Degraded',
]

/** Decides a request by the rule of its path. Undefined if its path has no rule. */
export function decideCors(
  rules: readonly CorsRule[],
  request: GatewayRequest,
  hosts: readonly (string | undefined)[],
): CorsDecision | undefined {
  const { all } = pathReadings(request)
  const rule = rules.find(({ pattern }) => all.some((path) => pattern.matches(path)))
  if (rule === undefined) return undefined
  const origin = request.header('origin')
  if (origin === undefined || isSameOrigin(origin, hosts))
    return { isPreflight: false, headers: VARY_BY_ORIGIN }
  const method = request.header('access-control-request-method')
  const isPreflight = request.method === 'OPTIONS' && method !== undefined
  if (!rule.allowsAll && !rule.allowsOrigin(origin)) return { isPreflight, headers: undefined }
  const headers = {
    'access-control-allow-origin': rule.allowsAll ? '*' : origin,
    ...(rule.allowCredentials ? { 'access-control-allow-credentials': 'true' } : {}),
  }
  if (isPreflight) return { isPreflight, headers: preflightHeaders(rule, method, request, headers) }
  if (rule.methods !== undefined && !rule.methods.has(request.method))
    return { isPreflight, headers: undefined }
  return {
    isPreflight,
    headers: { ...headers, ...VARY_BY_ORIGIN, 'access-control-expose-headers': exposedHeadersOf(rule) },
  }
}

/** Whether the origin is one of the gateway's own hosts; letter case and default ports are ignored. */
function isSameOrigin(origin: string, hosts: readonly (string | undefined)[]): boolean {
  const host = /^https?:\/\/([^/?#]+)$/i.exec(origin)?.[1]
  return (
    host !== undefined &&
    hosts.some((other) => other !== undefined && withoutDefaultPort(other) === withoutDefaultPort(host))
  )
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(80|443)$/, '')
}

function preflightHeaders(
  { methods, headers: allowed, maxAgeSeconds }: CorsRule,
  method: string,
  request: GatewayRequest,
  headers: CorsHeaders,
): CorsHeaders | undefined {
  if (methods !== undefined && !methods.has(method)) return undefined
  const requestedHeaders = (request.header('access-control-request-headers') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (!requestedHeaders.every((name) => TOKEN.test(name) && allowed?.has(name.toLowerCase()) !== false))
    return undefined
  if (!TOKEN.test(method)) return undefined
  return {
    ...headers,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    'access-control-allow-methods': methods === undefined ? method : [...methods].join(', '),
    ...(requestedHeaders.length === 0 ? {} : { 'access-control-allow-headers': requestedHeaders.join(', ') }),
    'access-control-max-age': String(maxAgeSeconds),
  }
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,256}$/

function exposedHeadersOf({ exposedHeaders, allowCredentials }: CorsRule): string {
  // With credentials, browsers read * as the name of a header.
  if (exposedHeaders.includes('*') && !allowCredentials) return '*'
  const lower = new Set(exposedHeaders.map((name) => name.toLowerCase()))
  return [...exposedHeaders, ...RATE_LIMIT_HEADERS.filter((name) => !lower.has(name.toLowerCase()))].join(
    ', ',
  )
}
