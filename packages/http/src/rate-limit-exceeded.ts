import type { Decision } from '@tidegate/core'
import { retryAfterSeconds } from './headers.js'

const ERROR_MARK = Symbol.for('@tidegate/http: RateLimitExceededError')

/**
 * A limited method was called too often. Express, Koa, Fastify and Nest respond with its status, Express and Koa with its
 * headers too.
 */
export class RateLimitExceededError extends Error {
  /** Makes `instanceof` true for errors of another copy of this package too, such as its CommonJS build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this method.
    if (this !== RateLimitExceededError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && ERROR_MARK in value
  }

  override readonly name = 'RateLimitExceededError'
  readonly code = 'RATE_LIMIT_EXCEEDED'
  readonly decision: Decision
  /** 429, or 503 if the store fails and the policy then refuses. */
  readonly status: 429 | 503
  readonly statusCode: 429 | 503
  /** That the message may be shown. */
  readonly expose = true
  readonly headers: { readonly 'Retry-After': string }

  constructor(decision: Decision) {
    const seconds = retryAfterSeconds(decision)
    const why =
      decision.degraded === 'closed' ? 'The rate limiter cannot answer right now.' : 'Too many requests.'
    super(`${why} Please retry after ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`)
    this.decision = decision
    this.status = decision.degraded === 'closed' ? 503 : 429
    this.statusCode = this.status
    this.headers = { 'Retry-After': String(seconds) }
  }
}

Object.defineProperty(RateLimitExceededError.prototype, ERROR_MARK, { value: true })
