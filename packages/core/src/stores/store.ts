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
  /**
   * It answers at once or is guarded already: it lives in this process, or `surviveFailures` is around it.
   * `createLimiter` leaves such a store as it is. Default: false.
   */
  readonly alwaysAnswers?: boolean
  /**
   * The same store, except that what it knows without asking anybody, such as a remembered refusal, is a plain value.
   * `surviveFailures` goes around this one: such an answer does not show that the store is up. Default: itself.
   */
  readonly plain?: Store
  /**
   * The refusal of this take, if it is known without asking anybody. It holds also while the store cannot be asked:
   * `surviveFailures` looks here first where it would answer without it. Default: nothing is known.
   */
  remembered?(requests: readonly TakeRequest[]): TakeResult | undefined
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
  /**
   * Told how long those who call will wait, in milliseconds: what has not been sent anywhere by then need not be
   * sent any more, and should not, since nobody wants its answer. Told several times, it goes by the longest: it
   * cannot tell whose call is whose.
   */
  expectDeadline?(ms: number): void
  /**
   * Which part of the store a key is in, for a store whose parts can fail one by one, such as a cluster. A part
   * that is down is then left alone while the others go on being asked. The request may be of any kind, and has
   * not been checked: throw for what is none. Default: the store is up or down as a whole.
   */
  partOf?(request: ResetRequest): string
  /**
   * Calls the listener whenever the store can be reached again after it could not be. Whoever leaves a failing
   * store alone for a while then asks it at once. Default: nobody is told, and finds out by asking now and then.
   */
  onReachable?(listener: () => void): void
}

/** A store that lives in this process: plain values, no promise. */
export interface SyncStore extends Store {
  readonly alwaysAnswers: true
  check(request: TakeRequest): Decision
  take(requests: readonly TakeRequest[]): WholeTakeResult
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
  /**
   * One for each request, in order: whether that limit alone would have allowed it. `undefined` for a limit
   * that was not asked, because the remembered refusal of another had already refused the take: see
   * `rememberRefusals`. Never in a take that is allowed.
   */
  decisions: (Decision | undefined)[]
  /** The longest of the limits' waits; 0 if allowed. */
  retryAfterMs: number
  /** The longest of the limits' delays; 0 if refused. */
  delayMs: number
}

/** Of a store that asks every limit, whatever the others say. */
export interface WholeTakeResult extends TakeResult {
  decisions: Decision[]
}

export interface RefundRequest {
  policy: Policy
  key: string
  /** `timeMs` of the decision that took the units. */
  timeMs: number
  /** How many of its units to give back, a whole number from 1. */
  cost: number
  /** `degraded` of that decision: what was not taken from the store is not given back to it. */
  degraded?: Decision['degraded'] | undefined
}

export interface ResetRequest {
  policy: Policy
  key: string
}

export type MaybePromise<T> = T | Promise<T>
