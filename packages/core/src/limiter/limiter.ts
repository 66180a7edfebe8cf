import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { Reservation } from '../reservations/handle.js'
import type { FailureOptions } from '../resilience/index.js'
import type { Slot } from '../slots/acquire.js'
import type { ReserveOptions, SettleResult } from '../store/full-store.js'
import type { AsyncStore, MaybePromise, Store, SyncStore } from '../store/store.js'
import type { Duration } from '../units/duration.js'
import type { WaitOptions } from './wait.js'

/** Options of `createLimiter`. */
export interface LimiterOptions<S extends Store = Store> {
  /** The policy, such as `fixedWindow({ limit: 100, window: '1m' })`. Required. */
  policy: Policy
  /** The store of the counts. Default: `new MemoryStore()`. */
  store?: S
  /**
   * How to handle failures of a remote store. Default: a deadline, a circuit breaker and the policy's `onStoreFailure`,
   * shared by all limiters on the store. With options, this limiter has its own. With `false`, it has none: errors of the
   * store are then errors of the limiter.
   */
  failure?: FailureOptions | false
}

/** A limiter: one policy on one store. See `createLimiter`. */
export interface Limiter {
  readonly policy: Policy
  /** The store, including the fallback and the leases that `createLimiter` has added. */
  readonly store: Store
  /** Decides a request, and takes `cost` units if it is allowed. Default cost: 1. */
  check(key: string, cost?: number): MaybePromise<Decision>
  /** Returns the decision that `check` would make now, without taking units. */
  peek(key: string, cost?: number): MaybePromise<Decision>
  /**
   * Gives back units of a decision of `check`: `cost` of them, by default all. Returns the number of units given back,
   * which is 0 once they no longer count.
   */
  refund(key: string, decision: Decision, cost?: number): MaybePromise<number>
  /**
   * Charges units even if they exceed the limit, for a cost that is known only afterwards. Later checks are denied until
   * the excess is paid off; a fixed window forgives it at its end. The decision is allowed and has `charged` and `overBy`.
   */
  charge(key: string, units: number): MaybePromise<Decision>
  /** Denies every check of the key for this duration. The count continues during the block; `reset` clears both. */
  block(key: string, duration: Duration): MaybePromise<void>
  /**
   * Waits until the units have been taken; for a leaky bucket also for `delayMs`. Calls for a key are served in order of
   * arrival. Rejects with `WAIT_TIMEOUT`, `WAIT_ABORTED` or `WAIT_QUEUE_FULL`.
   */
  wait(key: string, options?: WaitOptions): Promise<Decision>
  /**
   * Reserves an estimated number of units: `min(units, limit)` are charged until the reservation is settled with the
   * actual number. The decision has the reservation's `id`, and the methods `settle` and `cancel`.
   */
  reserve(key: string, units: number, options?: ReserveOptions): MaybePromise<Reservation>
  /** Ends a reservation, of this or another process, with the actual number of units. */
  settle(key: string, id: string, actual: number): MaybePromise<SettleResult>
  /** Ends a reservation and gives all its units back. */
  cancel(key: string, id: string): MaybePromise<SettleResult>
  /**
   * Acquires a slot of a concurrency policy. The slot is renewed until it is released:
   * `await using slot = await limiter.acquire(key)`, or `slot.release()`.
   */
  acquire(key: string): MaybePromise<Slot>
  /** Deletes the count, the block and the reservations of the key. */
  reset(key: string): MaybePromise<void>
  /** Resolves once the store is available; rejects with `STORE_FAILED` and the reason if it is not. */
  ready(): Promise<void>
}

/** A limiter on an in-process store: its methods return values, not promises. */
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

/** A limiter on a remote store: its methods return promises. */
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
