import type { Decision } from '@tidegate/core'
import { longestWait, type ReportedLimit } from './headers.js'

/** The format of an error body: `plain` is a small JSON object, `problem` a problem document (RFC 9457). */
export type BodyFormat = 'plain' | 'problem'

/** Options of `deniedResponse` and `unavailableResponse`. */
export interface ErrorResponseOptions {
  format: BodyFormat
  /** The requested resource, such as the path, for a problem document. Default: omitted. */
  instance?: string | undefined
}

/** An error response. The body is data for `JSON.stringify`. */
export interface ErrorResponse<Status extends number> {
  readonly status: Status
  readonly contentType: 'application/json' | 'application/problem+json'
  readonly body: object
  /** For the header `Retry-After`. */
  readonly retryAfterSeconds: number
}

/** Creates the 429 response (RFC 6585) for a denial, or for a request with several limits. */
export function deniedResponse(
  limits: readonly ReportedLimit[] | Decision,
  options: ErrorResponseOptions,
): ErrorResponse<429> {
  const denied = 'allowed' in limits ? [{ decision: limits }] : limits.filter(isDenied)
  const names = denied.map(({ decision }) => decision.policy)
  return errorResponse(429, longestWait(denied), options, {
    error: 'rate_limit_exceeded',
    summary: 'Too many requests.',
    type: 'quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    extensions: { 'violated-policies': [...new Set(names)] },
  })
}

/** Creates the 503 response for a policy that denies while its store is unavailable. */
export function unavailableResponse(
  options: ErrorResponseOptions & { retryAfterSeconds?: number },
): ErrorResponse<503> {
  return errorResponse(503, options.retryAfterSeconds ?? 1, options, {
    error: 'rate_limiter_unavailable',
    summary: 'The rate limiter is temporarily unavailable.',
    type: 'temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    extensions: {},
  })
}

/**
 * Whether an Accept header prefers `application/problem+json`: with at least the quality of JSON. A wildcard match does not
 * count as a preference.
 */
export function prefersProblem(accept: string | undefined): boolean {
  if (accept === undefined || !/application\/problem\+json/i.test(accept)) return false
  let problem = 0
  /** The quality of JSON by the most specific range that matches it. */
  let [json, specificity] = [0, -1]
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.toLowerCase().split(';')
    const name = type.trim()
    if (name === 'application/problem+json') problem = Math.max(problem, qualityOf(parameters))
    const level = JSON_RANGES.indexOf(name)
    if (level > specificity) [json, specificity] = [qualityOf(parameters), level]
  }
  return problem > 0 && problem >= json
}

interface Problem {
  error: string
  summary: string
  type: string
  title: string
  extensions: object
}

function errorResponse<Status extends number>(
  status: Status,
  seconds: number,
  { format, instance }: ErrorResponseOptions,
  { error, summary, type, title, extensions }: Problem,
): ErrorResponse<Status> {
  const wait = Math.max(1, Math.ceil(seconds) || 1)
  const message = `${summary} Please retry after ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
  if (format === 'plain') {
    const body = { error, message, retry_after: wait }
    return { status, contentType: 'application/json', body, retryAfterSeconds: wait }
  }
  const body = {
    type: `https://iana.org/assignments/http-problem-types#${type}`,
    title,
    status,
    detail: message,
    ...(instance === undefined ? {} : { instance }),
    ...extensions,
    retry_after: wait,
  }
  return { status, contentType: 'application/problem+json', body, retryAfterSeconds: wait }
}

function isDenied({ decision }: ReportedLimit): boolean {
  return !decision.allowed
}

/** The media ranges that match JSON, from the least to the most specific. */
const JSON_RANGES = ['*/*', 'application/*', 'application/json']

/** The `q` of a range: 1 if it has none, 0 if it is not valid. */
function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=')
    if (name?.trim() !== 'q') continue
    return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value.trim()) ? Number(value) : 0
  }
  return 1
}
