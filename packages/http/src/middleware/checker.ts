import type { Decision, MaybePromise, Policy } from '@tidegate/core'
import type { RequestFacts } from '../request.js'

/** Checks requests against a limiter, or against the matching rules. */
export interface Checker<Request> {
  /** The store, or the limiter if its store is unknown. Used to detect requests that are counted twice. */
  readonly storeIdentity: object
  /** The policies that do not depend on the request. */
  readonly policies: readonly Policy[]
  /** Checks a request. Returns undefined if no limit counts it. Takes no units if it rejects. */
  check(request: Request, facts: RequestFacts): Promise<CheckResult | undefined>
  /** Gives back the units of a decision. Undefined if the limiter cannot refund. */
  readonly refund: ((result: CheckResult) => MaybePromise<unknown>) | undefined
}

/** The decisions about one request. */
export interface CheckResult {
  /** Whether every limit allowed the request; if not, no limit was charged. */
  readonly allowed: boolean
  /** The decisions, at least one. */
  readonly limits: readonly LimitDecision[]
  /** How long to hold the request with `queue`. */
  readonly delayMs: number
  /** Releases the slots of concurrency policies. Never rejects. Undefined if the request holds no slots. */
  readonly release?: (() => Promise<void>) | undefined
}

/** The decision of one limit about a request. */
export interface LimitDecision {
  /** The name of the rule, if it has one. */
  readonly rule?: string | undefined
  readonly key: string
  readonly decision: Decision
  /** The policy; undefined if only a service has it. */
  readonly policy: Policy | undefined
}
