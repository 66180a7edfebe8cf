import type { Decision } from '@tidegate/core'
import { type LimitShown, longestWait, retryAfterSeconds } from './headers.js'

/** `plain` is our own small body, `problem` the one of RFC 9457. */
export type AnswerFormat = 'plain' | 'problem'

export interface AnswerOptions {
  format: AnswerFormat
  /** What was asked for, such as the path; only in a problem. Default: left out. */
  instance?: string | undefined
}

/** What to send: the body is plain data for JSON. */
export interface Answer<Status extends number> {
  readonly status: Status
  readonly contentType: 'application/json' | 'application/problem+json'
  readonly body: object
  /** For the header `Retry-After`. */
  readonly retryAfterSeconds: number
}

/** 429 (RFC 6585) for one decision, or for a request with several limits. */
export function refusal(refused: readonly LimitShown[] | Decision, options: AnswerOptions): Answer<429> {
  const isOne = 'allowed' in refused
  const seconds = isOne ? retryAfterSeconds(refused) : longestWait(refused)
  const names = isOne ? [refused.policy] : refused.filter(isRefusing).map(({ decision }) => decision.policy)
  return answer(429, seconds, options, {
    error: 'rate_limit_exceeded',
    says: 'Too many requests.',
    type: 'quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    more: { 'violated-policies': [...new Set(names)] },
  })
}

/** 503, for a policy that refuses while its store fails. */
export function unavailable(options: AnswerOptions & { retryAfterSeconds?: number }): Answer<503> {
  return answer(503, options.retryAfterSeconds ?? 1, options, {
    error: 'rate_limiter_unavailable',
    says: 'The rate limiter cannot answer right now.',
    type: 'temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    more: {},
  })
}

/**
 * Whether a client would rather have a problem than plain JSON: it names `application/problem+json` itself,
 * and likes it at least as much. What it accepts as one of `*` is no wish.
 */
export function prefersProblem(accept: string | undefined): boolean {
  if (accept === undefined || !/application\/problem\+json/i.test(accept)) return false
  let problem = 0
  /** What is said of JSON by the most exact range that covers it. */
  let [json, exactness] = [0, -1]
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.toLowerCase().split(';')
    const name = type.trim()
    if (name === 'application/problem+json') problem = Math.max(problem, qualityOf(parameters))
    const level = JSON_RANGES.indexOf(name)
    if (level > exactness) [json, exactness] = [qualityOf(parameters), level]
  }
  return problem > 0 && problem >= json
}

interface Text {
  error: string
  says: string
  type: string
  title: string
  more: object
}

function answer<Status extends number>(
  status: Status,
  seconds: number,
  { format, instance }: AnswerOptions,
  { error, says, type, title, more }: Text,
): Answer<Status> {
  const wait = Math.max(1, Math.ceil(seconds) || 1)
  const message = `${says} Please retry after ${wait} ${wait === 1 ? 'second' : 'seconds'}.`
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
    ...more,
    retry_after: wait,
  }
  return { status, contentType: 'application/problem+json', body, retryAfterSeconds: wait }
}

function isRefusing({ decision }: LimitShown): boolean {
  return !decision.allowed
}

/** From the least to the most exact. */
const JSON_RANGES = ['*/*', 'application/*', 'application/json']

/** The `q` of a range; 1 without one, 0 for one that is none. */
function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=')
    if (name?.trim() !== 'q') continue
    return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value.trim()) ? Number(value) : 0
  }
  return 1
}
