import type { Decision, Policy } from '@tidegate/core'
import { lowerCaseHeaders, type ReportedLimit, retryAfterSeconds, type Standard } from '@tidegate/http'
import type { FastifyReply } from 'fastify'
import type { ParsedCheck } from '../request/parse-check.js'

/** The body of a response to a check. */
export interface CheckBody {
  readonly allowed: boolean
  readonly key: string
  readonly algorithm: string
  readonly policy: string
  readonly limit: number
  /** This field and the next two are null while the store is unavailable. */
  readonly remaining: number | null
  readonly resetAfterSeconds: number | null
  readonly retryAfterSeconds: number | null
  readonly message: string
  /** The time for a refund; null while the store is unavailable, and for units of a leased bucket. */
  readonly timeMs: number | null
  readonly leased: true | undefined
  readonly degraded: Decision['degraded']
  readonly reason: Exclude<Decision['reason'], 'overload'>
}

export const ALLOWED = 'Request allowed'
export const DENIED = 'Rate limit exceeded'
const UNAVAILABLE = 'The rate limiter is temporarily unavailable'

const STANDARDS: readonly Standard[] = ['legacy', 'draft-10']

export function checkBodyOf(check: ParsedCheck, decision: Decision, message: string): CheckBody {
  const { allowed, limit, remaining, resetAfterMs, degraded, reason, leased } = decision
  const isExact = degraded === undefined
  return {
    ...skippedCheckBodyOf(check),
    allowed,
    limit,
    remaining: isExact ? remaining : null,
    resetAfterSeconds: isExact ? Math.ceil(resetAfterMs / 1000) : null,
    retryAfterSeconds: retryAfterSeconds(decision),
    message,
    timeMs: isExact ? refundTimeMsOf(decision, check.activePolicy.policy) : null,
    leased,
    degraded,
    reason: reason === 'overload' ? undefined : reason,
  }
}

/** The time for a refund. Leased units were taken from the store earlier; those of a bucket cannot be refunded. */
function refundTimeMsOf({ timeMs, leasedAtMs }: Decision, { algorithm }: Policy): number | null {
  if (leasedAtMs === undefined) return timeMs
  return algorithm === 'token-bucket' ? null : leasedAtMs
}

/** The body for a check that was skipped because another check of the same take was denied. */
export function skippedCheckBodyOf({ activePolicy, takeRequest }: ParsedCheck): CheckBody {
  const { policy, algorithm } = activePolicy
  return {
    allowed: false,
    key: takeRequest.key,
    algorithm,
    policy: policy.name,
    limit: policy.limit,
    remaining: null,
    resetAfterSeconds: null,
    retryAfterSeconds: null,
    message: 'Not checked: another limit denied',
    timeMs: null,
    leased: undefined,
    degraded: undefined,
    reason: undefined,
  }
}

export function checkMessageOf({ allowed, degraded }: Decision): string {
  return allowed ? ALLOWED : degraded === 'closed' ? UNAVAILABLE : DENIED
}

/** Sets the rate limit headers for one limit or several. */
export function setRateLimitHeaders(limits: readonly ReportedLimit[], reply: FastifyReply): void {
  reply.headers(lowerCaseHeaders(limits, STANDARDS))
}
