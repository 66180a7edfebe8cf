import type { Decision } from '../decision.js'
import type { Policy } from '../policy.js'

/**
 * Where state lives. A store decides: it is handed what to count and answers with decisions, so that
 * reading, deciding and writing are one atomic step wherever the state is.
 *
 * The contract, held by the conformance suite in `@tidegate/core/testing`:
 *
 * - Time is the store's own. Two processes on one store share one clock.
 * - State belongs to a policy's name and a key; no two different pairs ever share it.
 * - A refusal is a value. A store throws (or rejects) only for input that can never be right, before
 *   anything is charged, or with `STORE_FAILED` when it cannot answer.
 * - Methods may answer with plain values or promises. A store in this process answers with plain values.
 */
export interface Store {
  /** Takes from one limit. */
  check(request: TakeRequest): MaybePromise<Decision>
  /** Takes from every limit or from none. */
  take(requests: readonly TakeRequest[]): MaybePromise<TakeResult>
  /** What `check` would answer now, with nothing charged: `remaining` and `resetAfterMs` are as they are. */
  peek(request: TakeRequest): MaybePromise<Decision>
  /** Gives back units of an earlier decision; answers how many it gave, 0 if its time no longer counts. */
  refund(request: RefundRequest): MaybePromise<number>
  /** Forgets a key. */
  reset(request: ResetRequest): MaybePromise<void>
  /** Lets go of connections. What is called afterwards fails with `STORE_FAILED`. */
  close(): MaybePromise<void>
}

/** A store that lives in this process: plain values, no promise. */
export interface SyncStore extends Store {
  check(request: TakeRequest): Decision
  take(requests: readonly TakeRequest[]): TakeResult
  peek(request: TakeRequest): Decision
  refund(request: RefundRequest): number
  reset(request: ResetRequest): void
  close(): void
}

export interface TakeRequest {
  policy: Policy
  /** Who: 1 to 256 bytes of well-formed Unicode without control characters. */
  key: string
  /** How many units, a whole number from 1 to the policy's limit. */
  cost: number
}

export interface TakeResult {
  /** Whether every limit allowed it; if not, none was charged. */
  allowed: boolean
  /** One for each request, in order: whether that limit alone would have allowed it. */
  decisions: Decision[]
  /** The longest of the limits' waits; 0 if allowed. */
  retryAfterMs: number
  /** The longest of the limits' delays; 0 if refused. */
  delayMs: number
}

export interface RefundRequest {
  policy: Policy
  key: string
  /** `timeMs` of the decision that took the units. */
  timeMs: number
  /** How many of its units to give back, a whole number from 1. */
  cost: number
}

export interface ResetRequest {
  policy: Policy
  key: string
}

export type MaybePromise<T> = T | Promise<T>
