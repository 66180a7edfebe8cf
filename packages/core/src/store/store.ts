import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { Duration } from '../units/duration.js'

/**
 * Where state lives. A store receives requests and returns decisions, so that reading, deciding and writing are one
 * atomic step wherever the state is.
 *
 * The contract, enforced by the conformance suite in `@tidegate/core/testing`:
 *
 * - Time is the store's own. Two processes on one store share one clock.
 * - State belongs to a policy's name and a key; no two different pairs ever share it.
 * - A denial is a value. A store throws (or rejects) only for invalid input, before anything is charged, or with
 *   `STORE_FAILED` when it is unavailable.
 * - Methods return plain values or promises. A store in this process returns plain values.
 */
export interface Store {
  /** Properties of this store that `withFallback` needs or can use. Default: a remote store without any. */
  readonly traits?: StoreTraits
  /** Takes from one limit. */
  check(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Takes from every limit or from none. */
  take(requests: readonly TakeRequest[], call?: Call): MaybePromise<TakeResult>
  /** What `check` would return now, with nothing charged: `remaining` and `resetAfterMs` are unchanged. */
  peek(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Gives back units of an earlier decision; returns how many, 0 if its time no longer counts. */
  refund(request: RefundRequest, call?: Call): MaybePromise<number>
  /** Resets a key. */
  reset(request: ResetRequest, call?: Call): MaybePromise<void>
  /** Closes connections. Later calls fail with `STORE_FAILED`. */
  close(): MaybePromise<void>
}

/**
 * A store that also offers the newer operations. `MemoryStore`, `RedisStore`, `withDenialCache` and `withFallback` do; a
 * limiter on another store rejects them with `OPERATION_UNSUPPORTED`.
 */
export interface FullStore extends Store {
  /** Charges the cost whether or not it fits. The decision is allowed and has `charged` and `overBy`. */
  charge(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Denies every check of a key for a time. The block lies beside the count, which continues; `reset` lifts both. */
  block(request: BlockRequest, call?: Call): MaybePromise<void>
  /** Takes from every limit or from none, and records the units under an id until they are settled. */
  reserve(
    requests: readonly TakeRequest[],
    options?: ReserveOptions,
    call?: Call,
  ): MaybePromise<ReserveResult>
  /** Ends a reservation with its actual costs, one per request; 0 cancels it. Only the first call has an effect. */
  settle(
    requests: readonly ResetRequest[],
    id: string,
    actual: readonly number[],
    call?: Call,
  ): MaybePromise<SettleResult[]>
  /**
   * Takes as many units as the limit can spare: `max(min, min(max, floor(remaining / divisor)))` if at least `min` fit,
   * none otherwise. See `withLeases`.
   */
  takeUpTo(request: TakeUpToRequest, call?: Call): MaybePromise<TakeUpToResult>
  /** Releases slots of concurrency policies. For each, whether it was still held. */
  release(slots: readonly SlotRequest[], call?: Call): MaybePromise<boolean[]>
  /**
   * Renews slots of concurrency policies. For each: true if it was renewed, false if it is gone, undefined if the part of
   * the store that it is in did not answer.
   */
  renew(slots: readonly SlotRequest[], call?: Call): MaybePromise<(boolean | undefined)[]>
}

/** One call as its caller sees it. */
export interface Call {
  /** True once the caller has stopped waiting. A request that has not been sent by then must not be sent. */
  abandoned: boolean
}

/** Optional abilities of a store. A store without any of them works; each one makes failures cheaper to handle. */
export interface StoreTraits {
  /**
   * `in-process`: it returns plain values and cannot fail. `guarded`: it has a fallback already. `createLimiter` adds
   * nothing to either. Default: a remote store, which can fail.
   */
  readonly kind?: 'in-process' | 'guarded'
  /** Resolves once the store can decide, or rejects with the reason. Default: one `peek` is tried. */
  ready?(): Promise<void>
  /**
   * The denial of this take, if it is known without a call. With `isOverloaded`, also one that is too old for normal
   * use but whose wait is not over. Default: nothing is cached.
   */
  cachedDenial?(requests: readonly TakeRequest[], isOverloaded: boolean): TakeResult | undefined
  /**
   * For how long the store has left a call about these requests unanswered, in milliseconds of `EventLoopTime`:
   * infinite without a connection, 0 if nothing has been sent. It distinguishes a slow store from a queue in this process.
   * Default: every call counts as sent at once.
   */
  silentMs?(requests: readonly ResetRequest[]): number
  /**
   * The part of the store that a key is in, for a store whose parts can fail one by one, such as a cluster. The
   * request is unchecked and may be of any kind: throw if it is malformed. Default: the store is one part.
   */
  partOf?(request: ResetRequest): string
  /** What the store waits for while it has no connection, for error messages. Default: unknown. */
  waitsFor?(): string | undefined
  /** Calls the listener whenever the store becomes reachable again, so that it is tried at once. Default: never. */
  onReachable?(listener: () => void): void
  /**
   * Calls the listener with the reason, later and never during this call, whenever an attempt to connect has failed, so that a wrong
   * address is reported before the first check. Default: never.
   */
  onUnreachable?(listener: (error: unknown) => void): void
}

/** A store in this process: plain values, no promises. */
export interface SyncStore extends Store {
  readonly traits: StoreTraits & { readonly kind: 'in-process' }
  check(request: TakeRequest): Decision
  take(requests: readonly TakeRequest[]): WholeTakeResult
  peek(request: TakeRequest): Decision
  refund(request: RefundRequest): number
  reset(request: ResetRequest): void
  close(): void
}

/** A store that always returns promises: on another machine, or with a fallback around it. */
export interface AsyncStore extends Store {
  check(request: TakeRequest, call?: Call): Promise<Decision>
  take(requests: readonly TakeRequest[], call?: Call): Promise<TakeResult>
  peek(request: TakeRequest, call?: Call): Promise<Decision>
  refund(request: RefundRequest, call?: Call): Promise<number>
  reset(request: ResetRequest, call?: Call): Promise<void>
}

export interface TakeRequest {
  policy: Policy
  /** The client: 1 to 256 bytes of well-formed Unicode without control characters. */
  key: string
  /** How many units, a whole number from 1 to the policy's limit. */
  cost: number
  /** The id of the slot to acquire from a concurrency policy. Default: a random one. Ignored for other policies. */
  id?: string | undefined
}

export interface TakeResult {
  /** Whether every limit allowed it; if not, none was charged. */
  allowed: boolean
  /**
   * One for each request, in order: whether that limit alone would have allowed it. `undefined` for a limit
   * that was not looked at, because a cached denial of another limit had already denied the take: see
   * `withDenialCache`. Never in a take that is allowed.
   */
  decisions: (Decision | undefined)[]
  /** The longest wait of the limits; 0 if allowed. */
  retryAfterMs: number
  /** The longest delay of the limits; 0 if denied. */
  delayMs: number
}

/** The result of a store that looks at every limit. */
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
  /** `leasedAtMs` of that decision: the units of a lease were taken from the store before they were spent. */
  leasedAtMs?: Decision['leasedAtMs'] | undefined
  /** `degraded` of that decision: units that were not taken from the store are not given back to it. */
  degraded?: Decision['degraded'] | undefined
}

export interface ResetRequest {
  policy: Policy
  key: string
}

export interface BlockRequest {
  policy: Policy
  key: string
  /** Milliseconds, 1 ms to 366 d. */
  durationMs: number
}

export interface TakeUpToRequest {
  /** Any rate policy but a leaky bucket. */
  policy: Policy
  key: string
  /** The fewest units to take, a whole number from 1 to the policy's limit. */
  min: number
  /** The most units to take, a whole number from `min` to the policy's limit. */
  max: number
  /** The part of the remaining units that one call may take, a whole number from 1 to 1,000,000. */
  divisor: number
}

export interface TakeUpToResult {
  /** How many units were taken; 0 if fewer than `min` fit. */
  taken: number
  /** As `check` with a cost of `taken`, or of `min` if none were taken. */
  decision: Decision
  /** The end of the window that the units count in, in the store's time; undefined without such a window. */
  windowEndMs: number | undefined
}

export interface ReserveOptions {
  /**
   * The id of the reservation, 1 to 128 printable ASCII characters without spaces. It must come from the application,
   * never from a client. Default: a random one.
   */
  id?: string
  /** How long the reservation stays open, 1 s to 1 d. After that, the reserved units stay charged. Default: `10m`. */
  ttl?: Duration
  /** The most open reservations of one key, 1 to 1,000. Default: 1,000. */
  maxOpen?: number
}

/** As the result of a take. The decisions have `id` and `reserved`. */
export interface ReserveResult extends TakeResult {
  id: string
  /** The same id was reserved before, and this is the first decision. */
  repeated?: true
}

export type SettleResult =
  | { settled: true; refunded: number; charged: number; overBy: number }
  | { settled: false; reason: 'ended' | 'unknown' }

export interface SlotRequest {
  policy: Policy
  key: string
  /** `id` of the decision that acquired the slot. */
  id: string
  /** `degraded` of that decision: a slot that was counted in this process is not in the store. */
  degraded?: Decision['degraded'] | undefined
}

export type MaybePromise<T> = T | Promise<T>

export function isPromise<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return typeof (answer as Promise<T> | undefined)?.then === 'function'
}
