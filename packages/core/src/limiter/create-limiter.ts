import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { optionInvalid } from '../options.js'
import { isPolicy } from '../policy/assert-policy.js'
import { assertPolicy, factoryName } from '../policy/index.js'
import { TEST_ENVIRONMENT } from '../resilience/index.js'
import { acquire } from '../slots/acquire.js'
import { createRenewals, renewals } from '../slots/renewals.js'
import { assertOperation } from '../store/operations.js'
import type { AsyncStore, MaybePromise, Store, SyncStore } from '../store/store.js'
import type { Timers } from '../timers.js'
import { type Duration, parseDuration } from '../units/duration.js'
import { claimName, shareNames } from '../unnamed-policies.js'
import { guardedStore } from './guarded-store.js'
import { leasingStore } from './leasing-store.js'
import type { AsyncLimiter, Limiter, LimiterOptions, SyncLimiter } from './limiter.js'
import { whenReady } from './ready.js'
import { createRefunds } from './refund.js'
import { createReserve } from './reserve.js'
import { createWait } from './wait.js'

/**
 * Creates a limiter on an in-process store: one policy, whose counts are in this process. Its methods return values.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from '@tidegate/core'
 *
 * const limiter = createLimiter({ policy: fixedWindow({ limit: 100, window: '1m' }) })
 * const { allowed, retryAfterMs } = limiter.check('user:123')
 * ```
 */
export function createLimiter(options: LimiterOptions<SyncStore>): SyncLimiter
/**
 * Creates a limiter on a remote store: one policy, whose counts all processes share. Its methods return promises. The store
 * gets a timeout, a circuit breaker and the policy's `onStoreFailure`: see `withFallback`.
 *
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from '@tidegate/core'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const store = new RedisStore('redis://localhost:6379')
 * const limiter = createLimiter({ store, policy: tokenBucket({ capacity: 100, refillRate: 10, name: 'api' }) })
 * const { allowed, retryAfterMs } = await limiter.check('user:123')
 * ```
 */
export function createLimiter(options: LimiterOptions<AsyncStore>): AsyncLimiter
/** Creates a limiter on a store of any kind. Its methods return values or promises: `await` works for both. */
export function createLimiter(options: LimiterOptions): Limiter
export function createLimiter(options: LimiterOptions): Limiter {
  if (isPolicy(options)) throw policyAsOptions('a policy', factoryName(options.algorithm))
  assertNotNumbers(options)
  assertOptions('createLimiter()', options, ['policy', 'store', 'failure'])
  const { policy } = options
  assertPolicy(policy)
  const originalStore: Store = options.store ?? new MemoryStore()
  const store = leasingStore(guardedStore(originalStore, options.failure), policy)
  if (policy.blockForUs > 0) assertOperation(originalStore, 'block')
  if (policy.leaseUs > 0) assertOperation(originalStore, 'takeUpTo')
  shareNames(originalStore, store)
  claimName(store, policy, {})

  /** Reports errors the way the store does: async stores reject, sync stores throw. */
  function throwingLikeStore<A extends unknown[], T>(
    method: (...args: A) => MaybePromise<T>,
  ): (...args: A) => MaybePromise<T> {
    return store.traits?.kind === 'in-process' ? method : async (...args) => method(...args)
  }

  const check = (key: string, cost = 1) => store.check({ policy, key, cost })
  const peek = (key: string, cost = 1) => store.peek({ policy, key, cost })
  const refund = createRefunds(store, policy)
  const { reserve, settle, cancel } = createReserve(store, policy)
  const timers = (options as { [TEST_ENVIRONMENT]?: { timers: Timers } })[TEST_ENVIRONMENT]?.timers
  const slotRenewals = timers === undefined ? renewals : createRenewals(timers)

  return Object.freeze({
    policy,
    store,
    check,
    peek,
    refund: throwingLikeStore(refund),
    wait: createWait(policy, { check, peek, refund }),
    charge: throwingLikeStore((key: string, units: number): MaybePromise<Decision> => {
      assertOperation(store, 'charge')
      return store.charge({ policy, key, cost: units })
    }),
    block: throwingLikeStore((key: string, duration: Duration): MaybePromise<void> => {
      assertOperation(store, 'block')
      return store.block({ policy, key, durationMs: durationMsOf(duration) })
    }),
    reserve: throwingLikeStore(reserve),
    settle: throwingLikeStore(settle),
    cancel: throwingLikeStore(cancel),
    acquire: throwingLikeStore((key: string, ...others: unknown[]) => {
      assertOnlyKey(others)
      return acquire(store, policy, key, slotRenewals)
    }),
    reset: (key: string) => store.reset({ policy, key }),
    ready: () => whenReady(originalStore, policy),
  })
}

/** `check` and `wait` take more than a key: a cost or options must not be ignored here. */
function assertOnlyKey(others: readonly unknown[]): void {
  const other = others.find((value) => value !== undefined)
  if (other === undefined) return
  throw optionInvalid(
    undefined,
    `acquire takes only a key, got ${show(other)} after it. A call acquires one slot: write limiter.acquire('user:123').`,
  )
}

function policyAsOptions(got: string, factory: string): TidegateError {
  return optionInvalid(
    'policy',
    `createLimiter() takes options, got ${got}. Write createLimiter({ policy: ${factory}({ … }) }).`,
  )
}

/** Rejects `createLimiter({ limit: 100, window: '1m' })`, which middleware accepts. */
function assertNotNumbers(options: object): void {
  if (typeof options !== 'object' || options === null || 'policy' in options) return
  if ('limit' in options) throw policyAsOptions('the numbers of a policy', 'fixedWindow')
  if (!('capacity' in options)) return
  throw policyAsOptions('the numbers of a policy', 'leakRate' in options ? 'leakyBucket' : 'tokenBucket')
}

function durationMsOf(duration: Duration): number {
  const ms = parseDuration(duration)
  if (ms !== undefined) return ms
  throw new TidegateError(
    'BLOCK_INVALID',
    `The duration of a block must be 1 ms to 366 d, got ${show(duration)}. Write for example '15m', or 900000 for milliseconds.`,
    { field: 'duration' },
  )
}
