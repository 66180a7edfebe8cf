import { sharedByCopies } from './copies.js'
import type { Decision } from './decision.js'
import { assertOptions, show, TidegateError } from './errors.js'
import { assertKey } from './key.js'
import { MemoryStore } from './memory-store/memory-store.js'
import { assertPolicy, type Policy } from './policy.js'
import type { MaybePromise, Store, SyncStore } from './stores/store.js'
import { type FailureOptions, parseFailureOptions, surviveFailures } from './stores/survive-failures.js'

export interface LimiterOptions<S extends Store = Store> {
  policy: Policy
  /** Where state lives. Default: `new MemoryStore()`. */
  store?: S
  /**
   * What to do when the store fails. By default a deadline, a breaker and the policy's `onStoreFailure` are put
   * around a store that is not in this process, one set for all limiters on it. With options, this limiter has
   * a set of its own. `false` leaves them off: the limiter then fails with its store.
   */
  failure?: FailureOptions | false
}

/** One policy on one store. */
export interface Limiter {
  readonly policy: Policy
  /** The store, with what was put around it. */
  readonly store: Store
  /** Decides, and takes `cost` units if allowed. */
  check(key: string, cost?: number): MaybePromise<Decision>
  /** The decision that `check` would give now, with nothing taken: `remaining` and `resetAfterMs` are as they are. */
  peek(key: string, cost?: number): MaybePromise<Decision>
  /**
   * Gives back what a decision of `check` took: all of it, or `cost` units at a time. Answers how much was
   * given: nothing once the decision's own time no longer counts.
   */
  refund(key: string, decision: Decision, cost?: number): MaybePromise<number>
  /** Forgets the key. */
  reset(key: string): MaybePromise<void>
}

/** A limiter on a store in this process: plain values, nothing to await. */
export interface SyncLimiter extends Limiter {
  readonly store: SyncStore
  check(key: string, cost?: number): Decision
  peek(key: string, cost?: number): Decision
  refund(key: string, decision: Decision, cost?: number): number
  reset(key: string): void
}

export function createLimiter(options: LimiterOptions<SyncStore>): SyncLimiter
export function createLimiter(options: LimiterOptions): Limiter
export function createLimiter(options: LimiterOptions): Limiter {
  assertOptions('createLimiter()', options, ['policy', 'store', 'failure'])
  const { policy } = options
  assertPolicy(policy)
  const store = storeOf(options)
  /** What has been given back of each decision so far. */
  const refunded = new WeakMap<Decision, number>()

  function refund(key: string, decision: Decision, cost = decision?.cost): MaybePromise<number> {
    if (typeof decision !== 'object' || decision === null) {
      const message = `A refund needs the decision that check gave: refund(key, decision), got ${show(decision)}.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'decision' })
    }
    if (decision.policy !== policy.name) {
      const message = `The decision is of "${decision.policy}", this limiter's policy is "${policy.name}". Refund it through the limiter that made it.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'decision' })
    }
    const left = decision.cost - (refunded.get(decision) ?? 0)
    if (!Number.isInteger(cost) || cost < 1 || cost > left) {
      const message = `A refund is a whole number from 1 to what is left of the decision's cost, ${left}, got ${show(cost)}.`
      throw new TidegateError('REFUND_INVALID', message, { field: 'cost' })
    }
    // Before it is noted: what the store would refuse has given nothing back.
    assertKey(key)
    // Refused, or let through without asking the store: nothing was taken.
    if (!decision.allowed || decision.degraded === 'open') return 0
    refunded.set(decision, decision.cost - left + cost)
    return store.refund({ policy, key, timeMs: decision.timeMs, cost, degraded: decision.degraded })
  }

  return Object.freeze({
    policy,
    store,
    check: (key: string, cost = 1) => store.check({ policy, key, cost }),
    peek: (key: string, cost = 1) => store.peek({ policy, key, cost }),
    // What is found here is told as the store tells things: who awaits promises catches rejections.
    refund: answersLater(store)
      ? async (key: string, decision: Decision, cost?: number) => refund(key, decision, cost)
      : refund,
    reset: (key: string) => store.reset({ policy, key }),
  })
}

/** Whether it is elsewhere, or `surviveFailures` is around it, wherever. */
function answersLater(store: Store): boolean {
  return store.alwaysAnswers !== true || 'breakerState' in store
}

function storeOf({ store = new MemoryStore(), failure }: LimiterOptions): Store {
  if (typeof store?.check !== 'function') {
    throw new TidegateError(
      'OPTION_INVALID',
      `store must be a Store, got ${show(store)}. Leave it out for a MemoryStore.`,
      { field: 'store' },
    )
  }
  // Also where they do not matter: a mistake should show before the store is changed.
  if (failure !== undefined && failure !== false) parseFailureOptions(failure)
  if (store.alwaysAnswers === true || failure === false) return store
  if (failure !== undefined) return surviveFailures(store, failure)
  let shared = surviving.get(store)
  if (shared === undefined) {
    shared = surviveFailures(store)
    surviving.set(store, shared)
  }
  return shared
}

/** By the store inside. Limiters on one store share its circuit breaker and its local counts, in every copy of this package. */
const surviving = sharedByCopies('surviving stores', () => new WeakMap<Store, Store>())
