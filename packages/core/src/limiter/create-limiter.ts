import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { optionInvalid } from '../options.js'
import { isPolicy } from '../policy/assert-policy.js'
import { assertPolicy, type Policy } from '../policy/index.js'
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

export function createLimiter(options: LimiterOptions<SyncStore>): SyncLimiter
export function createLimiter(options: LimiterOptions<AsyncStore>): AsyncLimiter
export function createLimiter(options: LimiterOptions): Limiter
export function createLimiter(options: LimiterOptions): Limiter {
  if (isPolicy(options)) throw policyAsOptions(options)
  assertOptions('createLimiter()', options, ['policy', 'store', 'failure'])
  const { policy } = options
  assertPolicy(policy)
  const bareStore: Store = options.store ?? new MemoryStore()
  const store = leasingStore(guardedStore(bareStore, options.failure), policy)
  if (policy.blockForUs > 0) assertOperation(bareStore, 'block')
  if (policy.leaseUs > 0) assertOperation(bareStore, 'takeUpTo')
  shareNames(bareStore, store)
  claimName(store, policy, {})

  /** Reports errors the way the store does: async stores reject, sync stores throw. */
  function asTheStore<A extends unknown[], T>(
    method: (...args: A) => MaybePromise<T>,
  ): (...args: A) => MaybePromise<T> {
    return store.traits?.kind === 'in-process' ? method : async (...args) => method(...args)
  }

  const check = (key: string, cost = 1) => store.check({ policy, key, cost })
  const peek = (key: string, cost = 1) => store.peek({ policy, key, cost })
  const refund = createRefunds(store, policy)
  const { reserve, settle, cancel } = createReserve(store, policy)
  const timers = (options as { [TEST_ENVIRONMENT]?: { timers: Timers } })[TEST_ENVIRONMENT]?.timers
  const renewedBy = timers === undefined ? renewals : createRenewals(timers)

  return Object.freeze({
    policy,
    store,
    check,
    peek,
    refund: asTheStore(refund),
    wait: createWait(policy, { check, peek, refund }),
    charge: asTheStore((key: string, units: number): MaybePromise<Decision> => {
      assertOperation(store, 'charge')
      return store.charge({ policy, key, cost: units })
    }),
    block: asTheStore((key: string, duration: Duration): MaybePromise<void> => {
      assertOperation(store, 'block')
      return store.block({ policy, key, durationMs: durationMsOf(duration) })
    }),
    reserve: asTheStore(reserve),
    settle: asTheStore(settle),
    cancel: asTheStore(cancel),
    acquire: asTheStore((key: string, ...others: unknown[]) => {
      assertOnlyKey(others)
      return acquire(store, policy, key, renewedBy)
    }),
    reset: (key: string) => store.reset({ policy, key }),
    ready: () => whenReady(bareStore, policy),
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

function policyAsOptions({ algorithm }: Policy): TidegateError {
  const factory = algorithm.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return optionInvalid(
    'policy',
    `createLimiter() takes options, got a policy. Write createLimiter({ policy: ${factory}({ … }) }).`,
  )
}

function durationMsOf(duration: Duration): number {
  const ms = parseDuration(duration)
  if (ms !== undefined) return ms
  throw new TidegateError(
    'BLOCK_INVALID',
    `A block needs a duration such as '15m' or 900000 (milliseconds), got ${show(duration)}.`,
    { field: 'duration' },
  )
}
