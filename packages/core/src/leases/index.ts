import { type Clock, systemClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show } from '../errors.js'
import { assertKey } from '../key.js'
import { optionInvalid } from '../options.js'
import { assertPolicy, type Policy } from '../policy/index.js'
import { TEST_ENVIRONMENT } from '../resilience/index.js'
import { assertStore } from '../store/assert-store.js'
import type { FullStore } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { assertCost, assertRefund } from '../store/requests.js'
import {
  type AsyncStore,
  type Call,
  isPromise,
  type MaybePromise,
  type ResetRequest,
  type Store,
  type StoreTraits,
  type TakeRequest,
} from '../store/store.js'
import { platformTimers, type Timers } from '../timers.js'
import { createHeldLeases, type LeaseCounts } from './held-leases.js'
import { isAlive, leasedDecision, putBack } from './lease.js'
import { createLeasedTake } from './leased-take.js'

/** A store that leases units of busy keys. Operations that the wrapped store lacks throw `OPERATION_UNSUPPORTED`. */
export interface LeasingStore extends AsyncStore, Omit<FullStore, keyof Store> {
  readonly traits: StoreTraits
  /** Counters of checks, store calls and leased units. */
  readonly leases: LeaseCounts
  close(): Promise<void>
}

/** Options of `withLeases`. */
export interface LeasesOptions {
  /**
   * Returns how many processes share the store at the moment. The larger of this and the policy's `instances` counts.
   * Default: the policy's `instances`.
   */
  instances?: () => number
}

/**
 * Leases units of busy keys, so that hundreds of checks need one call to the store. The limit is never exceeded. Applies
 * to policies with `lease`; other policies go to the store unchanged. `createLimiter` adds this for such policies.
 *
 * A key is busy if it was checked at least twice within `maxAge`. Its next check leases as many units as there were
 * checks, at most `share × limit ÷ instances`, and at most `1 ÷ (2 × instances)` of the remaining units, so that leases
 * shrink to single units near the limit. Further checks spend these units in this process, until `maxAge` after the call
 * was sent or the end of the window. While a lease call is in flight, other checks of the key wait for it.
 *
 * @example
 * ```ts
 * const store = withLeases(new RedisStore('redis://localhost:6379'))
 * const policy = fixedWindow({ limit: 10_000, window: '1m', name: 'api', lease: true })
 * await store.check({ policy, key: 'user:123', cost: 1 })
 * ```
 */
export function withLeases(store: Store, options: LeasesOptions = {}): LeasingStore {
  assertOptions('withLeases()', options, ['instances'])
  const { instances = () => 1 } = options
  if (typeof instances !== 'function') {
    const message = `instances must be a function that returns how many processes share the store, got ${show(instances)}. Write for example instances: () => 3.`
    throw optionInvalid('instances', message)
  }
  assertStore(store, 'withLeases')
  assertOperation(store, 'takeUpTo')
  const test = (options as { [TEST_ENVIRONMENT]?: { timers?: Timers; clock?: Clock } })[TEST_ENVIRONMENT]
  const { timers = platformTimers, clock = systemClock } = test ?? {}
  const leases = createHeldLeases({ store, instances, timers, clock })
  const takeLeased = createLeasedTake({ store, leases })

  async function checkLeased({ policy, key, cost }: TakeRequest, call?: Call): Promise<Decision> {
    if (cost !== 1) assertCost(policy, cost)
    const copy = { policy, key, cost }
    const busy = leases.arrive(policy, key)
    if (busy === undefined) return leases.countCall(() => store.check(copy, call))
    const decision = leases.spendHere(busy, cost)
    if (decision !== undefined) return decision
    // Wait only once: with small leases, checks would otherwise be decided one round trip after the other.
    if (busy.pending !== undefined) {
      busy.uses++
      await busy.pending
      busy.uses--
      const afterWait = leases.spendHere(busy, cost)
      if (afterWait !== undefined) return afterWait
    }
    const lease = leases.requestLease(busy, cost, call)
    if (lease !== undefined) return (await lease).decision
    return leases.countCall(() => store.check(copy, call))
  }

  /** Runs a call that invalidates leased units, and ends the lease of its key before and after. */
  async function ending<T>(
    { policy, key }: ResetRequest,
    end: (policy: Policy, key: string) => void,
    send: () => T,
  ): Promise<Awaited<T>> {
    if (!isLeased(policy)) return await send()
    assertPolicy(policy)
    assertKey(key)
    end(policy, key)
    try {
      return await send()
    } finally {
      // A lease may have been granted before the call took effect.
      end(policy, key)
    }
  }

  return Object.freeze({
    traits: traitsOf(store),
    get leases() {
      return leases.counts()
    },
    check: (request, call) =>
      isLeased(request.policy) ? checkLeased(request, call) : promised(store.check(request, call)),
    take: (requests, call) =>
      isTakeOfLeased(requests) ? takeLeased(requests, call) : promised(store.take(requests, call)),

    /** Makes no call for a key with leased units. */
    async peek(request, call) {
      const { policy, key, cost } = request
      const lease = isLeased(policy) ? leases.find(policy, key)?.lease : undefined
      const now = leases.now()
      if (lease === undefined || lease.unitsLeft < cost || !isAlive(lease, now))
        return store.peek(request, call)
      assertPolicy(policy)
      assertCost(policy, cost)
      return leasedDecision(lease, cost, now)
    },

    /** Refunds to the lease while it is alive, and then to the store, except for token buckets. */
    async refund(request, call) {
      const { policy, key, cost, leasedAtMs } = request
      if (leasedAtMs === undefined || !isLeased(policy)) return store.refund(request, call)
      assertRefund({ ...request, timeMs: leasedAtMs })
      const lease = leases.find(policy, key)?.lease
      if (lease?.decision.timeMs === leasedAtMs && isAlive(lease, leases.now())) {
        const units = putBack(lease, cost)
        leases.watch(lease)
        return units
      }
      if (policy.algorithm === 'token-bucket') return 0
      return store.refund({ policy, key, cost, timeMs: leasedAtMs }, call)
    },

    takeUpTo: async (request, call) => store.takeUpTo(request, call),

    async charge(request, call) {
      assertOperation(store, 'charge')
      return store.charge(request, call)
    },

    /** Gives leased units back, because the count continues during the block. */
    async block(request, call) {
      assertOperation(store, 'block')
      return ending(request, leases.endLease, () => store.block(request, call))
    },

    async reserve(requests, reserveOptions, call) {
      assertOperation(store, 'reserve')
      return store.reserve(requests, reserveOptions, call)
    },

    async settle(requests, id, actual, call) {
      assertOperation(store, 'settle')
      return store.settle(requests, id, actual, call)
    },

    async release(slots, call) {
      assertOperation(store, 'release')
      return store.release(slots, call)
    },

    async renew(slots, call) {
      assertOperation(store, 'renew')
      return store.renew(slots, call)
    },

    /** Drops leased units: a refund would reduce the new count. */
    reset: async (request, call) => ending(request, leases.dropLease, () => store.reset(request, call)),

    async close() {
      await leases.close()
      await store.close()
    },
  } satisfies LeasingStore)
}

/** Returns false for values that are not policies, which the store rejects. */
function isLeased(policy: Policy | undefined): boolean {
  return policy !== undefined && policy !== null && policy.leaseUs > 0
}

function isTakeOfLeased(requests: readonly TakeRequest[]): boolean {
  return Array.isArray(requests) && requests.some((request) => isLeased(request?.policy))
}

function promised<T>(answer: MaybePromise<T>): Promise<T> {
  return isPromise(answer) ? answer : Promise.resolve(answer)
}

/** With leases, an in-process store is asynchronous, so its traits must not say `in-process`. */
function traitsOf({ traits = {} }: Store): StoreTraits {
  return traits.kind === 'in-process' ? { ...traits, kind: 'guarded' } : traits
}
