import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { Reservation } from '../reservations/handle.js'
import type { FailureOptions } from '../resilience/index.js'
import type { Slot } from '../slots/acquire.js'
import type {
  AsyncStore,
  MaybePromise,
  ReserveOptions,
  SettleResult,
  Store,
  SyncStore,
} from '../store/store.js'
import type { Duration } from '../units/duration.js'
import type { WaitOptions } from './wait.js'

export interface LimiterOptions<S extends Store = Store> {
  policy: Policy
  /** Where state lives. Default: `new MemoryStore()`. */
  store?: S
  /**
   * How to handle failures of the store. By default a remote store gets a deadline, a circuit breaker and the policy's
   * `onStoreFailure`, shared by all limiters on it. With options, this limiter has a set of its own. `false` leaves
   * them off: the limiter then fails with its store.
   */
  failure?: FailureOptions | false
}

/** One policy on one store. */
export interface Limiter {
  readonly policy: Policy
  /** The store, with its fallback, and with leases if the policy has them. */
  readonly store: Store
  /** Decides, and takes `cost` units if allowed. */
  check(key: string, cost?: number): MaybePromise<Decision>
  /** The decision that `check` would make now, with nothing taken. */
  peek(key: string, cost?: number): MaybePromise<Decision>
  /**
   * Gives back the units of a decision of `check`: all of them, or `cost` units at a time. Returns the number of units
   * given back, which is 0 once they no longer count.
   */
  refund(key: string, decision: Decision, cost?: number): MaybePromise<number>
  /**
   * Charges units whether or not they fit, for a cost that is known only afterwards. Later checks are denied until the
   * debt is over; a fixed window ends with its debt. The decision is allowed and has `charged` and `overBy`.
   */
  charge(key: string, units: number): MaybePromise<Decision>
  /** Denies every check of the key for this long. The count goes on beside the block; `reset` lifts both. */
  block(key: string, duration: Duration): MaybePromise<void>
  /**
   * Resolves once the units have been taken (leaky bucket: after `delayMs`). Calls for a key are served in order of
   * arrival. Rejects with `WAIT_TIMEOUT`, `WAIT_ABORTED` or `WAIT_QUEUE_FULL`.
   */
  wait(key: string, options?: WaitOptions): Promise<Decision>
  /**
   * Takes units whose real number is known only later: `min(units, limit)` of them are charged until the reservation is
   * settled. The decision has the reservation's `id`, and `settle` and `cancel` to end it.
   */
  reserve(key: string, units: number, options?: ReserveOptions): MaybePromise<Reservation>
  /** Ends a reservation of this or another process with the units that were really used. */
  settle(key: string, id: string, actual: number): MaybePromise<SettleResult>
  /** Ends a reservation as if nothing had been used. */
  cancel(key: string, id: string): MaybePromise<SettleResult>
  /**
   * Acquires a slot of a concurrency policy. The slot is renewed until it is released:
   * `await using slot = await limiter.acquire(key)`, or `slot.release()`.
   */
  acquire(key: string): MaybePromise<Slot>
  /** Resets the key. */
  reset(key: string): MaybePromise<void>
  /** Resolves once the store can decide; rejects with `STORE_FAILED` and the reason if it cannot. */
  ready(): Promise<void>
}

/** A limiter on a store in this process: plain values, nothing to await. */
export interface SyncLimiter extends Limiter {
  readonly store: SyncStore
  check(key: string, cost?: number): Decision
  peek(key: string, cost?: number): Decision
  refund(key: string, decision: Decision, cost?: number): number
  charge(key: string, units: number): Decision
  block(key: string, duration: Duration): void
  reserve(key: string, units: number, options?: ReserveOptions): Reservation<SettleResult>
  settle(key: string, id: string, actual: number): SettleResult
  cancel(key: string, id: string): SettleResult
  acquire(key: string): Slot
  reset(key: string): void
}

/** A limiter on a remote store. */
export interface AsyncLimiter extends Limiter {
  readonly store: AsyncStore
  check(key: string, cost?: number): Promise<Decision>
  peek(key: string, cost?: number): Promise<Decision>
  refund(key: string, decision: Decision, cost?: number): Promise<number>
  charge(key: string, units: number): Promise<Decision>
  block(key: string, duration: Duration): Promise<void>
  reserve(key: string, units: number, options?: ReserveOptions): Promise<Reservation<Promise<SettleResult>>>
  settle(key: string, id: string, actual: number): Promise<SettleResult>
  cancel(key: string, id: string): Promise<SettleResult>
  acquire(key: string): Promise<Slot>
  reset(key: string): Promise<void>
}
