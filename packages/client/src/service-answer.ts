import { type Decision, type ErrorCode, type Policy, TidegateError } from '@tidegate/core'
import { type Answer, failed } from './service.js'

/** What was asked for: one limit. */
export interface Asked {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
}

/**
 * A decision from what the service says of one limit. It says seconds, rounded up: so the waits here are whole
 * seconds, never too short, and up to a second longer than the service knows them.
 */
export function decisionOf(body: unknown, asked: Asked, timeMs: number, isCharged: boolean): Decision {
  const { allowed, limit, remaining, retryAfterSeconds, resetAfterSeconds, degraded, algorithm } = (body ??
    {}) as Readonly<Record<string, unknown>>
  if (typeof allowed !== 'boolean' || !isCount(limit)) throw failed('its answer is no decision')
  const left = isCount(remaining) ? remaining : 0
  const gone = limit - left - (isCharged ? asked.cost : 0)
  // A service without its store does not know what is left: nobody is to wait as behind a full bucket.
  const isHeld = allowed && algorithm === 'LEAKY_BUCKET' && isCount(remaining)
  const delayMs = isHeld ? delayOf(asked.policy, gone) : 0
  return {
    allowed,
    limit,
    cost: asked.cost,
    remaining: left,
    // A refusal without a wait would be asked again at once.
    retryAfterMs: allowed ? 0 : 1000 * Math.max(1, isCount(retryAfterSeconds) ? retryAfterSeconds : 1),
    resetAfterMs: isCount(resetAfterSeconds) ? resetAfterSeconds * 1000 : 0,
    delayMs,
    timeMs,
    policy: asked.policy.name,
    ...(isDegraded(degraded) ? { degraded } : {}),
  }
}

/** What an answer says of the one limit that was asked about. */
export function oneBody({ headers, body }: Answer): object {
  return { degraded: headers.get('x-ratelimit-degraded'), ...body }
}

/** A policy that refuses while the service's own store fails: 503, by the header or by its body. */
export function isClosed({ status, headers, body }: Answer): boolean {
  if (status !== 503) return false
  return headers.get('x-ratelimit-degraded') === 'closed' || body.error === 'rate_limiter_unavailable'
}

/** The same as the service would say it in a batch. */
export function closedBody({ headers, body }: Answer, { policy }: Asked): object {
  return {
    allowed: false,
    limit: countIn(headers, 'x-ratelimit-limit') ?? policy.limit,
    retryAfterSeconds: countIn(headers, 'retry-after') ?? body.retry_after,
    degraded: 'closed',
  }
}

/** What the service has against a question, as whoever asked here knows it; `STORE_FAILED` if it is not theirs. */
export function errorOf({ status, body }: Answer): TidegateError {
  const { error, message, field } = body
  const says = typeof message === 'string' ? message.slice(0, 500) : undefined
  if (typeof error !== 'string' || says === undefined) return failed(`it answered with status ${status}`)
  const name = typeof field === 'string' ? field.replace(/^checks\[\d+\]\./, '') : undefined
  if (status === 401 || status === 403) {
    const options = { field: name ?? 'token' }
    return new TidegateError('ACCESS_DENIED', `The service does not let this client ask: ${says}`, options)
  }
  const found = name === undefined || status > 404 ? undefined : INPUT[name]
  if (found === undefined) return failed(`it answered with status ${status}: ${says}`)
  const [code, ours] = found
  return new TidegateError(code, says, { field: ours })
}

/** Which entry of a batch it is about; undefined if it does not say. */
export function indexOf({ body: { field } }: Answer): number | undefined {
  const found = typeof field === 'string' ? /^checks\[(\d+)\]/.exec(field) : null
  return found === null ? undefined : Number(found[1])
}

/** What the API calls its fields, and what is wrong with one: whatever can be seen without it is refused here. */
const INPUT: Readonly<Record<string, readonly [ErrorCode, field: string]>> = {
  key: ['KEY_INVALID', 'key'],
  permits: ['COST_ABOVE_LIMIT', 'cost'],
  policy: ['POLICY_INVALID', 'policy'],
  algorithm: ['POLICY_INVALID', 'policy'],
}

/**
 * The service does not say how long to hold a request. A leaky bucket's level before it is at most what was gone
 * by then, and drains at the policy's rate: this is too long by less than one unit's time.
 */
function delayOf(policy: Policy, gone: number): number {
  if (policy.algorithm !== 'leaky-bucket' || gone <= 0) return 0
  return Math.ceil((gone * policy.d) / policy.n) / 1000
}

function countIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isDegraded(value: unknown): value is NonNullable<Decision['degraded']> {
  return value === 'open' || value === 'closed' || value === 'local'
}
