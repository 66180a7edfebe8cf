import type { Decision, MaybePromise, Policy } from '@tidegate/core'
import type { RequestFacts } from './request.js'

/** What counts requests: one limiter, or the matching rules. */
export interface Counting<Request> {
  /** The store, or the limiter if its store is unknown. Middleware with one store may count the same request twice. */
  readonly by: object
  /** The policies that do not depend on the request. */
  readonly policies: readonly Policy[]
  /** Decides and takes; undefined if nothing counts this request. Takes nothing if it rejects. */
  count(request: Request, facts: RequestFacts): Promise<Counted | undefined>
  /** Gives back the units of a decision. Undefined if the limiter cannot refund. */
  readonly refund: ((counted: Counted) => MaybePromise<unknown>) | undefined
}

/** The result of counting one request. */
export interface Counted {
  /** Whether every limit allowed it; if not, none was charged. */
  readonly allowed: boolean
  /** At least one. */
  readonly limits: readonly LimitCounted[]
  /** How long a queue should hold the request. */
  readonly delayMs: number
}

/** One limit that counted a request. */
export interface LimitCounted {
  /** The name of the rule, if it has one. */
  readonly rule?: string | undefined
  readonly key: string
  readonly decision: Decision
  /** Undefined if only the remote service knows the policy. */
  readonly policy: Policy | undefined
}
