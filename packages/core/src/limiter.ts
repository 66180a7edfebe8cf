import { sharedByCopies } from './copies.js'
import type { Decision } from './decision.js'
import { assertOptions, show, TidegateError } from './errors.js'
import { assertKey } from './key.js'
import { MemoryStore } from './memory-store/memory-store.js'
import { assertPolicy, type Policy } from './policy.js'
import { type FailureOptions, parseFailureOptions, withFallback } from './resilience/index.js'
import { notAStore } from './store/not-a-store.js'
import type { AsyncStore, MaybePromise, Store, SyncStore } from './store/store.js'
import { storeFailed } from './store/store-error.js'
import { platformTimers } from './timers.js'
import { claimName, shareNames } from './unnamed-policies.js'

export interface LimiterOptions<S extends Store = Store> {
  policy: Policy
  /** Where state lives. Default: `new MemoryStore()`. */
  store?: S
  /**
   * What to do when the store fails. By default a remote store gets a deadline, a circuit breaker and the policy's
   * `onStoreFailure`, shared by all limiters on it. With options, this limiter has a set of its own. `false` leaves
   * them off: the limiter then fails with its store.
   */
  failure?: FailureOptions | false
}

/** One policy on one store. */
export interface Limiter {
  readonly policy: Policy
  /** The store, with its fallback. */
  readonly store: Store
  /** Decides, and takes `cost` units if allowed. */
  check(key: string, cost?: number): MaybePromise<Decision>
  /** The decision that `check` would make now, with nothing taken. */
  peek(key: string, cost?: number): MaybePromise<Decision>
  /**
   * Gives back what a decision of `check` took: all of it, or `cost` units at a time. Returns how much was given:
   * nothing once the decision's own time no longer counts.
   */
  refund(key: string, decision: Decision, cost?: number): MaybePromise<number>
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
  reset(key: string): void
}

/** A limiter on a remote store. */
export interface AsyncLimiter extends Limiter {
  readonly store: AsyncStore
  check(key: string, cost?: number): Promise<Decision>
  peek(key: string, cost?: number): Promise<Decision>
  refund(key: string, decision: Decision, cost?: number): Promise<number>
  reset(key: string): Promise<void>
}

export function createLimiter(options: LimiterOptions<SyncStore>): SyncLimiter
export function createLimiter(options: LimiterOptions<AsyncStore>): AsyncLimiter
export function createLimiter(options: LimiterOptions): Limiter
export function createLimiter(options: LimiterOptions): Limiter {
  assertOptions('createLimiter()', options, ['policy', 'store', 'failure'])
  const { policy } = options
  assertPolicy(policy)
  const bareStore: Store = options.store ?? new MemoryStore()
  const store = guardedStore(bareStore, options.failure)
  shareNames(bareStore, store)
  claimName(store, policy, {})
  /** How much of each decision has been given back so far. */
  const refunded = new WeakMap<Decision, number>()

  function refund(key: string, decision: Decision, cost = decision?.cost): MaybePromise<number> {
    if (typeof decision !== 'object' || decision === null) {
      const message = `A refund needs the decision that check returned: refund(key, decision), got ${show(decision)}.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'decision' })
    }
    if (decision.policy !== policy.name) {
      const message = `The decision belongs to the policy "${decision.policy}", this limiter's policy is "${policy.name}". Refund it through the limiter that made it.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'decision' })
    }
    const left = decision.cost - (refunded.get(decision) ?? 0)
    if (!Number.isInteger(cost) || cost < 1 || cost > left) {
      const message = `A refund must be a whole number from 1 to the rest of the decision's cost, ${left}, got ${show(cost)}.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'cost' })
    }
    // Checked before the refund is recorded: an invalid key gives nothing back.
    assertKey(key)
    // A denied or an open decision took nothing.
    if (!decision.allowed || decision.degraded === 'open') return 0
    refunded.set(decision, decision.cost - left + cost)
    return store.refund({ policy, key, timeMs: decision.timeMs, cost, degraded: decision.degraded })
  }

  return Object.freeze({
    policy,
    store,
    check: (key: string, cost = 1) => store.check({ policy, key, cost }),
    peek: (key: string, cost = 1) => store.peek({ policy, key, cost }),
    // Report errors the way the store does: async stores reject, sync stores throw.
    refund:
      store.traits?.kind === 'in-process'
        ? refund
        : async (key: string, decision: Decision, cost?: number) => refund(key, decision, cost),
    reset: (key: string) => store.reset({ policy, key }),
    async ready() {
      if (bareStore.traits?.ready !== undefined) return bareStore.traits.ready()
      const probe = async () => bareStore.peek({ policy, key: 'ready', cost: 1 })
      const { degraded } = await withTimeout(probe(), READY_TIMEOUT_MS)
      if (degraded !== undefined) throw storeFailed('unreachable', 'The store is unavailable.')
    },
  })
}

function guardedStore(store: Store, failure: FailureOptions | false | undefined): Store {
  if (typeof store?.check !== 'function') {
    throw new TidegateError('OPTION_INVALID', notAStore(store), { field: 'store' })
  }
  // Validated even where they are not used: an error should show before the store is exchanged.
  if (failure !== undefined && failure !== false) parseFailureOptions(failure)
  if (store.traits?.kind !== undefined || failure === false) return store
  if (failure !== undefined) return withFallback(store, failure)
  let shared = guarded.get(store)
  if (shared === undefined) {
    shared = withFallback(store)
    guarded.set(store, shared)
  }
  return shared
}

/** For stores that do not implement `traits.ready`. */
const READY_TIMEOUT_MS = 5000

function withTimeout<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = platformTimers.after(ms, () =>
      reject(storeFailed('timeout', `The store did not answer within ${ms} ms.`)),
    )
    answer.then(resolve, reject).finally(() => platformTimers.cancel(timer))
  })
}

/** By the store inside: limiters on one store share what they know about its health. */
const guarded = sharedByCopies('stores with a fallback', () => new WeakMap<Store, Store>())
