import type { Decision, MaybePromise, Policy } from '@tidegate/core'
import type { RequestFacts } from './request.js'

/** What counts requests: one limiter, or the rules that match. */
export interface Counting<Request> {
  /** Where the counts are: who shares it may count the same. */
  readonly by: object
  /** The policies that are known before any request is. */
  readonly policies: readonly Policy[]
  /** Decides and takes; undefined if nothing counts this request. Nothing is taken if it throws. */
  count(request: Request, facts: RequestFacts): MaybePromise<Counted | undefined>
  /** Gives back what was taken. Undefined if it cannot. */
  readonly refund: ((counted: Counted) => MaybePromise<unknown>) | undefined
}

/** What came of counting one request. */
export interface Counted {
  /** Whether every limit allowed it; if not, none was charged. */
  readonly allowed: boolean
  /** At least one. */
  readonly limits: readonly LimitCounted[]
  /** How long to hold the request, if it is to be held. */
  readonly delayMs: number
}

/** One limit that a request was counted by. */
export interface LimitCounted {
  /** The rule's name, if it has one. */
  readonly rule?: string | undefined
  readonly key: string
  readonly decision: Decision
  /** Undefined if only the service that decided knows it. */
  readonly policy: Policy | undefined
}
