import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'

/**
 * Keeps the state of limits. A store receives requests and returns decisions, so that reading, deciding and writing are one
 * atomic step.
 *
 * The contract, which the conformance suite in `@tidegate/core/testing` tests:
 *
 * - Decisions use the store's own time, so that processes on one store share one clock.
 * - State belongs to a policy's name and a key. Two different pairs never share state.
 * - A denial is a result, not an error. A store throws (or rejects) only for invalid input, before anything is charged, or
 *   with `STORE_FAILED` when it is unavailable.
 * - Methods return values or promises. An in-process store returns values.
 */
export interface Store {
  /** Optional abilities of the store, for `createLimiter` and `withFallback`. Default: a remote store without any. */
  readonly traits?: StoreTraits
  /** Decides a request of one limit, and takes its cost if it is allowed. */
  check(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Takes from every limit or from none. */
  take(requests: readonly TakeRequest[], call?: Call): MaybePromise<TakeResult>
  /** Returns the decision that `check` would make now, without taking units. */
  peek(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Gives back units of an earlier decision. Returns their number, 0 if they no longer count. */
  refund(request: RefundRequest, call?: Call): MaybePromise<number>
  /** Deletes the count, the block and the reservations of a key. */
  reset(request: ResetRequest, call?: Call): MaybePromise<void>
  /** Closes connections. Later calls fail with `STORE_FAILED`. */
  close(): MaybePromise<void>
}

/** The caller's side of one call to a store. */
export interface Call {
  /** Whether the caller has stopped waiting. A request that has not been sent by then must not be sent. */
  abandoned: boolean
}

/** Optional abilities of a store. None of them is required; they improve the handling of failures. */
export interface StoreTraits {
  /**
   * `in-process`: the store returns values and cannot fail. `guarded`: the store already has a fallback. `createLimiter`
   * does not wrap either. Default: a remote store, which can fail.
   */
  readonly kind?: 'in-process' | 'guarded'
  /** Resolves once the store is available, or rejects with the reason. Default: tries one `peek`. */
  ready?(): Promise<void>
  /**
   * Returns the cached denial of a take, if there is one. With `isOverloaded`, also a denial that has expired from the
   * cache but whose wait is not over. Default: no cache.
   */
  cachedDenial?(requests: readonly TakeRequest[], isOverloaded: boolean): TakeResult | undefined
  /**
   * How long a call for these requests has been unanswered, in milliseconds of `EventLoopTime`: infinite without a
   * connection, 0 if no call is pending. Distinguishes a slow store from a queue in this process. Default: every call counts
   * as sent immediately.
   */
  silentMs?(requests: readonly ResetRequest[]): number
  /**
   * The part of the store that a key is in, for a store whose parts can fail independently, such as a cluster. The request
   * is not validated: throw if it is malformed. Default: the store has a single part.
   */
  partOf?(request: ResetRequest): string
  /** What the store waits for while it has no connection, for error messages. Default: not reported. */
  waitsFor?(): string | undefined
  /** Calls the listener whenever the store becomes reachable, so that it is retried immediately. Default: never. */
  onReachable?(listener: () => void): void
  /**
   * Calls the listener with the reason, later and never during this call, whenever an attempt to connect has failed, so that a wrong
   * address is reported before the first check. Default: never.
   */
  onUnreachable?(listener: (error: unknown) => void): void
}

/** An in-process store: its methods return values, not promises. */
export interface SyncStore extends Store {
  readonly traits: StoreTraits & { readonly kind: 'in-process' }
  check(request: TakeRequest): Decision
  take(requests: readonly TakeRequest[]): WholeTakeResult
  peek(request: TakeRequest): Decision
  refund(request: RefundRequest): number
  reset(request: ResetRequest): void
  close(): void
}

/** A store whose methods return promises: a remote store, or a store with a fallback. */
export interface AsyncStore extends Store {
  check(request: TakeRequest, call?: Call): Promise<Decision>
  take(requests: readonly TakeRequest[], call?: Call): Promise<TakeResult>
  peek(request: TakeRequest, call?: Call): Promise<Decision>
  refund(request: RefundRequest, call?: Call): Promise<number>
  reset(request: ResetRequest, call?: Call): Promise<void>
}

/** A request to take units of one limit. */
export interface TakeRequest {
  policy: Policy
  /** The key, such as `'user:123'`: 1 to 256 bytes of well-formed Unicode without control characters. */
  key: string
  /** The number of units, a whole number from 1 to the policy's limit. */
  cost: number
  /** The id of the slot to acquire from a concurrency policy. Default: a random one. Ignored for other policies. */
  id?: string | undefined
}

/** The result of a take of several limits. */
export interface TakeResult {
  /** Whether every limit allowed the take. If not, no limit was charged. */
  allowed: boolean
  /**
   * One decision per request, in order: that of its limit alone. Undefined for a limit that was not checked, because a cached
   * denial of another limit denied the take: see `withDenialCache`. Never undefined if the take is allowed.
   */
  decisions: (Decision | undefined)[]
  /** The longest wait of the limits; 0 if allowed. */
  retryAfterMs: number
  /** The longest delay of the limits; 0 if denied. */
  delayMs: number
}

/** The result of a take in which every limit was checked. */
export interface WholeTakeResult extends TakeResult {
  decisions: Decision[]
}

/** A request to give back units of a decision. */
export interface RefundRequest {
  policy: Policy
  key: string
  /** `timeMs` of the decision. */
  timeMs: number
  /** The number of units to give back, a whole number of at least 1. */
  cost: number
  /** `leasedAtMs` of the decision, if it has one. */
  leasedAtMs?: Decision['leasedAtMs'] | undefined
  /** `degraded` of the decision, if it has one: units that the store did not count are not given back to it. */
  degraded?: Decision['degraded'] | undefined
}

/** A policy and a key: the request to reset a key, or to settle a reservation of it. */
export interface ResetRequest {
  policy: Policy
  key: string
}

/** A value from an in-process store, or a promise from a remote one. */
export type MaybePromise<T> = T | Promise<T>

export function isPromise<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return typeof (answer as Promise<T> | undefined)?.then === 'function'
}
