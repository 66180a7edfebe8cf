import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { Duration } from '../units/duration.js'
import type { Call, MaybePromise, ResetRequest, Store, TakeRequest, TakeResult } from './store.js'

/**
 * A store with all operations, such as `MemoryStore` and `RedisStore`. On a store without an operation, limiters reject it
 * with `OPERATION_UNSUPPORTED`.
 */
export interface FullStore extends Store {
  /** Charges the cost even if it exceeds the limit. The decision is allowed and has `charged` and `overBy`. */
  charge(request: TakeRequest, call?: Call): MaybePromise<Decision>
  /** Denies every check of a key for a duration. The count continues during the block; `reset` clears both. */
  block(request: BlockRequest, call?: Call): MaybePromise<void>
  /** Reserves units of every limit or of none, under an id by which they are settled. */
  reserve(
    requests: readonly TakeRequest[],
    options?: ReserveOptions,
    call?: Call,
  ): MaybePromise<ReserveResult>
  /** Ends a reservation with its actual units, one number per request; 0 cancels it. Only the first call has an effect. */
  settle(
    requests: readonly ResetRequest[],
    id: string,
    actual: readonly number[],
    call?: Call,
  ): MaybePromise<SettleResult[]>
  /**
   * Takes a part of the remaining units: `max(min, min(max, floor(remaining / divisor)))` if at least `min` fit, else none.
   * Used by `withLeases`.
   */
  takeUpTo(request: TakeUpToRequest, call?: Call): MaybePromise<TakeUpToResult>
  /** Releases slots of concurrency policies. Returns for each whether it was still held. */
  release(slots: readonly SlotRequest[], call?: Call): MaybePromise<boolean[]>
  /**
   * Renews slots of concurrency policies. Returns for each: true if it was renewed, false if it is gone, undefined if its
   * part of the store did not respond.
   */
  renew(slots: readonly SlotRequest[], call?: Call): MaybePromise<(boolean | undefined)[]>
}

/** A request to block a key. */
export interface BlockRequest {
  policy: Policy
  key: string
  /** The duration in milliseconds, 1 ms to 366 d. */
  durationMs: number
}

/** A request to take a part of the remaining units: see `FullStore.takeUpTo`. */
export interface TakeUpToRequest {
  /** A rate policy that is not a leaky bucket. */
  policy: Policy
  key: string
  /** The minimum number of units, a whole number from 1 to the policy's limit. */
  min: number
  /** The maximum number of units, a whole number from `min` to the policy's limit. */
  max: number
  /** Takes at most the remaining units divided by this, a whole number from 1 to 1,000,000. */
  divisor: number
}

/** The result of `FullStore.takeUpTo`. */
export interface TakeUpToResult {
  /** The number of units taken; 0 if fewer than `min` fit. */
  taken: number
  /** The decision of `check` with a cost of `taken`, or of `min` if no units were taken. */
  decision: Decision
  /** The end of the window that the units count in, in the store's time; undefined without such a window. */
  windowEndMs: number | undefined
}

/** Options of a reservation. */
export interface ReserveOptions {
  /**
   * The id of the reservation, 1 to 128 printable ASCII characters without spaces. It must come from the application,
   * never from a client. Default: a random one.
   */
  id?: string
  /** How long the reservation stays open, 1 s to 1 d. Then the reserved units stay charged. Default: `'10m'`. */
  ttl?: Duration
  /** The maximum number of open reservations of one key, 1 to 1,000. Default: 1,000. */
  maxOpen?: number
}

/** The result of a reserve: like that of a take, with decisions that have `id` and `reserved`. */
export interface ReserveResult extends TakeResult {
  id: string
  /** The id was reserved before, and this is the first result again. */
  repeated?: true
}

/** The result of a settlement: the refunded and charged units, or why no reservation was settled. */
export type SettleResult =
  | { settled: true; refunded: number; charged: number; overBy: number }
  | { settled: false; reason: 'ended' | 'unknown' }

/** A request to release or renew a slot. */
export interface SlotRequest {
  policy: Policy
  key: string
  /** `id` of the decision that acquired the slot. */
  id: string
  /** `degraded` of that decision, if it has one: a slot that was counted in this process is not in the store. */
  degraded?: Decision['degraded'] | undefined
}
