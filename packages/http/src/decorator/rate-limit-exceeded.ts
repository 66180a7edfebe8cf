import type { Decision } from '@tidegate/core'
import { retryAfterSeconds } from '../response/headers.js'

const ERROR_MARK = Symbol.for('@tidegate/http: RateLimitExceededError')

/**
 * The error of a denied call of a limited method. Express, Koa, Fastify and Nest respond with its status; Express and Koa
 * also send its headers.
 */
export class RateLimitExceededError extends Error {
  /** Makes `instanceof` work for errors of another copy of this package too, such as its CommonJS build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this method.
    if (this !== RateLimitExceededError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && ERROR_MARK in value
  }

  override readonly name = 'RateLimitExceededError'
  readonly code = 'RATE_LIMIT_EXCEEDED'
  /** The denial. */
  readonly decision: Decision
  /** 429, or 503 if the store is unavailable and the policy is `closed`. */
  readonly status: 429 | 503
  readonly statusCode: 429 | 503
  /** Lets frameworks send the message to the client. */
  readonly expose = true
  readonly headers: { readonly 'Retry-After': string }

  constructor(decision: Decision) {
    const seconds = retryAfterSeconds(decision)
    const reason =
      decision.degraded === 'closed' ? 'The rate limiter is temporarily unavailable.' : 'Too many requests.'
    super(`${reason} Please retry after ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`)
    this.decision = decision
    this.status = decision.degraded === 'closed' ? 503 : 429
    this.statusCode = this.status
    this.headers = { 'Retry-After': String(seconds) }
  }
}

Object.defineProperty(RateLimitExceededError.prototype, ERROR_MARK, { value: true })
