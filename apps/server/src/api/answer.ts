import type { Decision } from '@tidegate/core'
import { type LimitShown, lowerCaseHeaders, retryAfterSeconds, type Standard } from '@tidegate/http'
import type { FastifyReply } from 'fastify'
import type { Asked } from './asking.js'

/** What `/check` answers. */
export interface CheckBody {
  readonly allowed: boolean
  readonly key: string
  readonly algorithm: string
  readonly policy: string
  readonly limit: number
  /** These three are null where nobody knows, because the store has not said. */
  readonly remaining: number | null
  readonly resetAfterSeconds: number | null
  readonly retryAfterSeconds: number | null
  readonly message: string
  readonly degraded: Decision['degraded']
}

export const ALLOWED = 'Request allowed'
export const REFUSED = 'Rate limit exceeded'
const UNAVAILABLE = 'The rate limiter cannot answer right now'

const STANDARDS: readonly Standard[] = ['legacy', 'draft-10']

export function bodyOf({ by, take }: Asked, decision: Decision, message: string): CheckBody {
  const { degraded } = decision
  const isKnown = degraded === undefined
  return {
    allowed: decision.allowed,
    key: take.key,
    algorithm: by.algorithm,
    policy: by.policy.name,
    limit: decision.limit,
    remaining: isKnown ? decision.remaining : null,
    resetAfterSeconds: isKnown ? Math.ceil(decision.resetAfterMs / 1000) : null,
    retryAfterSeconds: retryAfterSeconds(decision),
    message,
    degraded,
  }
}

/** For a limit of a take that was not asked, because another had refused already. */
export function unaskedBodyOf({ by, take }: Asked): CheckBody {
  return {
    allowed: false,
    key: take.key,
    algorithm: by.algorithm,
    policy: by.policy.name,
    limit: by.policy.limit,
    remaining: null,
    resetAfterSeconds: null,
    retryAfterSeconds: null,
    message: 'Not asked: another limit refuses',
    degraded: undefined,
  }
}

export function messageOf({ allowed, degraded }: Decision): string {
  return allowed ? ALLOWED : degraded === 'closed' ? UNAVAILABLE : REFUSED
}

/** What the headers say of one limit, or of several. */
export function showLimits(limits: readonly LimitShown[], reply: FastifyReply): void {
  reply.headers(lowerCaseHeaders(limits, STANDARDS))
}
