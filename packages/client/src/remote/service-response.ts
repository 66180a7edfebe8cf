import { type Decision, type ErrorCode, type Policy, type TakeRequest, TidegateError } from '@tidegate/core'
import { failed, type ServiceResponse } from './service.js'

/**
 * The decision in the response for one limit. The service sends whole seconds, rounded up, so waits are never too short
 * and up to a second too long.
 */
export function decisionOf(body: unknown, request: TakeRequest, nowMs: number, isCharged: boolean): Decision {
  const { allowed, limit, remaining, retryAfterSeconds, resetAfterSeconds, ...more } = (body ??
    {}) as Readonly<Record<string, unknown>>
  const { timeMs, degraded, reason, algorithm, leased } = more
  if (typeof allowed !== 'boolean' || !isCount(limit)) throw failed('its response is not a decision')
  const left = isCount(remaining) ? remaining : 0
  const used = limit - left - (isCharged ? request.cost : 0)
  // Without its store the service sends no remaining count. The request must not wait as if the bucket were full.
  const isHeld = allowed && algorithm === 'LEAKY_BUCKET' && isCount(remaining)
  const delayMs = isHeld ? delayOf(request.policy, used) : 0
  return {
    allowed,
    limit,
    cost: request.cost,
    remaining: left,
    // At least one second, so that a denied client does not retry immediately.
    retryAfterMs: allowed ? 0 : 1000 * Math.max(1, isCount(retryAfterSeconds) ? retryAfterSeconds : 1),
    resetAfterMs: isCount(resetAfterSeconds) ? resetAfterSeconds * 1000 : 0,
    delayMs,
    // The time of the service's store, for a refund.
    timeMs: typeof timeMs === 'number' ? timeMs : nowMs,
    policy: request.policy.name,
    ...(isDegraded(degraded) ? { degraded } : {}),
    ...(isReason(reason) ? { reason } : {}),
    ...(leased === true
      ? { leased, leasedAtMs: typeof timeMs === 'number' ? timeMs : NOT_REFUNDABLE_MS }
      : {}),
  }
}

/** `leasedAtMs` of leased units that the service does not take back: those of a token bucket, sent without a time. */
export const NOT_REFUNDABLE_MS = 0

/** The decision in a response about one limit. Throws the error of a response that has none. */
export function decisionIn(response: ServiceResponse, request: TakeRequest): Decision {
  const { status } = response
  const isDecided = status === 200 || (status === 429 && 'allowed' in response.body)
  if (!isDecided && !isClosed(response)) throw errorOf(response)
  const body = isDecided ? oneBody(response) : closedBody(response, request)
  return decisionOf(body, request, Date.now(), true)
}

/** The body of a response about one limit, with the fallback from its header. */
export function oneBody({ headers, body }: ServiceResponse): object {
  return { degraded: headers.get('x-ratelimit-degraded'), ...body }
}

/** Whether a policy denied because the service's own store is unavailable: 503 with that header or body. */
export function isClosed({ status, headers, body }: ServiceResponse): boolean {
  if (status !== 503) return false
  return headers.get('x-ratelimit-degraded') === 'closed' || body.error === 'rate_limiter_unavailable'
}

/** The same denial in the form of a batch entry. */
export function closedBody({ headers, body }: ServiceResponse, { policy }: TakeRequest): object {
  return {
    allowed: false,
    limit: countIn(headers, 'x-ratelimit-limit') ?? policy.limit,
    retryAfterSeconds: countIn(headers, 'retry-after') ?? body.retry_after,
    degraded: 'closed',
  }
}

/** Converts an error response, with the field names of this API; `STORE_FAILED` if the caller did not cause the error. */
export function errorOf({ status, body }: ServiceResponse): TidegateError {
  const { error, message, field } = body
  const text = typeof message === 'string' ? message.slice(0, 500) : undefined
  if (typeof error !== 'string' || text === undefined) return failed(`it responded with status ${status}`)
  const name = typeof field === 'string' ? field.replace(/^(checks|slots)\[\d+\]\./, '') : undefined
  if (status === 401 || status === 403) {
    const options = { field: name ?? 'token' }
    const advice = status === 401 ? ' Set the option token, or adminToken for a reset.' : ''
    return new TidegateError('ACCESS_DENIED', `The service denied access: ${text}${advice}`, options)
  }
  if (status === 409 && name === 'id') return new TidegateError('RESERVATION_ID_USED', text, { field: name })
  const cause = name === undefined || status > 404 ? undefined : CAUSES[name]
  if (cause === undefined) return failed(`it responded with status ${status}: ${text}`)
  const [code, ownField] = cause
  return new TidegateError(code, text, { field: ownField })
}

/** The index of the batch entry that an error names; undefined if it names none. */
export function indexOf({ body: { field } }: ServiceResponse): number | undefined {
  const found = typeof field === 'string' ? /^checks\[(\d+)\]/.exec(field) : null
  return found === null ? undefined : Number(found[1])
}

/** The code and field for each field name of the API. Other errors are detected before the request is sent. */
const CAUSES: Readonly<Record<string, readonly [ErrorCode, field: string]>> = {
  key: ['KEY_INVALID', 'key'],
  permits: ['COST_ABOVE_LIMIT', 'cost'],
  policy: ['POLICY_INVALID', 'policy'],
  algorithm: ['POLICY_INVALID', 'policy'],
  id: ['RESERVATION_INVALID', 'id'],
  ttl: ['RESERVATION_INVALID', 'ttl'],
  actual: ['RESERVATION_INVALID', 'actual'],
  timeMs: ['REFUND_INVALID', 'timeMs'],
}

/**
 * The hold time of a leaky bucket, which the service does not send: the time to drain the used units at the policy's rate.
 * It is too long by less than the time of one unit.
 */
function delayOf(policy: Policy, used: number): number {
  if (policy.algorithm !== 'leaky-bucket' || used <= 0) return 0
  return Math.ceil((used * policy.d) / policy.n) / 1000
}

function countIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Units that were given back: of a bucket, also parts of one. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isDegraded(value: unknown): value is NonNullable<Decision['degraded']> {
  return value === 'open' || value === 'closed' || value === 'local'
}

function isReason(value: unknown): value is NonNullable<Decision['reason']> {
  return value === 'blocked' || value === 'override' || value === 'max-open' || value === 'slot'
}
