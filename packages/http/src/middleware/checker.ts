import type { Decision, MaybePromise, Policy } from '@tidegate/core'
import type { RequestFacts } from '../request.js'

/** Checks requests against one limiter, or against the matching rules. */
export interface Checker<Request> {
  /** The store, or the limiter if its store is unknown. Middleware on one store may count a request twice. */
  readonly storeIdentity: object
  /** The policies that do not depend on the request. */
  readonly policies: readonly Policy[]
  /** Decides and takes; undefined if no limit counts this request. Takes nothing if it rejects. */
  check(request: Request, facts: RequestFacts): Promise<CheckResult | undefined>
  /** Gives back the units of a decision. Undefined if the limiter cannot refund. */
  readonly refund: ((result: CheckResult) => MaybePromise<unknown>) | undefined
}

/** The decisions about one request. */
export interface CheckResult {
  /** Whether every limit allowed the request; if not, no limit was charged. */
  readonly allowed: boolean
  /** At least one. */
  readonly limits: readonly LimitDecision[]
  /** How long a queue should hold the request. */
  readonly delayMs: number
  /** Frees the slots of concurrency policies. Never rejects. Undefined if the request holds none. */
  readonly release?: (() => Promise<void>) | undefined
}

/** One limit of a request and its decision. */
export interface LimitDecision {
  /** The name of the rule, if it has one. */
  readonly rule?: string | undefined
  readonly key: string
  readonly decision: Decision
  /** Undefined if only the remote service knows the policy. */
  readonly policy: Policy | undefined
}
