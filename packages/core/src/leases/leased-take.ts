import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import type { FullStore } from '../store/full-store.js'
import { type Limit, limitsOf, takeResult } from '../store/requests.js'
import type { Call, Store, TakeRequest, TakeResult } from '../store/store.js'
import type { BusyKey } from './busy-keys.js'
import type { HeldLeases } from './held-leases.js'
import { isAlive, isGivenBack, type Lease, leasedDecision } from './lease.js'

export interface LeasedTakeOptions {
  store: Store
  leases: HeldLeases
}

/**
 * Takes from several limits, all or none, and decides the leased limits in this process. Their units are set aside first;
 * then the store decides the other limits in one call. If a lease ends before the store responds, the store decides that
 * limit too.
 */
export function createLeasedTake({ store, leases }: LeasedTakeOptions) {
  /** Sets units of a lease aside for this limit. Returns undefined if the store must decide it. */
  async function setAside(
    { policy, key, cost }: Limit,
    busyKeys: BusyKey[],
    call?: Call,
  ): Promise<Lease | undefined> {
    const busy = leases.arrive(policy, key)
    if (busy === undefined) return undefined
    busy.uses++
    busyKeys.push(busy)
    const lease = leases.setAside(busy, cost)
    if (lease !== undefined) return lease
    if (busy.pending !== undefined) {
      await busy.pending
      const afterWait = leases.setAside(busy, cost)
      if (afterWait !== undefined) return afterWait
    }
    // The store would charge a denied lease call, and the take again.
    if (policy.countDenied) return undefined
    const grant = await leases.requestLease(busy, cost, call)
    if (grant?.decision.degraded === 'local' && grant.decision.allowed) {
      // Counted in this process, which the take will do again.
      const { timeMs, degraded } = grant.decision
      await store.refund({ policy, key, timeMs, cost, degraded })
    }
    return grant?.lease
  }

  /** Gives back the units that the store has charged for a take, after another limit denied it. */
  async function undo(limits: readonly Limit[], decisions: readonly (Decision | undefined)[]): Promise<void> {
    await Promise.allSettled(
      limits.map(async ({ policy, key, cost }, i) => {
        const { timeMs, degraded, id } = decisions[i]!
        if (policy.algorithm === 'concurrency') {
          const { release } = store as Partial<FullStore>
          return id === undefined ? undefined : release?.call(store, [{ policy, key, id, degraded }])
        }
        if (degraded === 'open' || (policy.leaseUs > 0 && !isGivenBack(policy))) return undefined
        return store.refund({ policy, key, timeMs, cost, degraded })
      }),
    )
  }

  return async function take(requests: readonly TakeRequest[], call?: Call): Promise<TakeResult> {
    const parsed = limitsOf(requests)
    const { limits } = parsed
    for (const { key } of limits) assertKey(key)

    /** For each limit: the lease that its units are set aside from, or the decision of the store. */
    const leaseOf: (Lease | undefined)[] = limits.map(() => undefined)
    const storeDecisions: (Decision | undefined)[] = limits.map(() => undefined)

    function returnAll(): void {
      for (const [i, lease] of leaseOf.entries())
        if (lease !== undefined) leases.unsetAside(lease, limits[i]!.cost)
    }

    function resultOf(allowed: boolean): TakeResult {
      const now = leases.now()
      const decisions = limits.map(({ cost }, i) => {
        const lease = leaseOf[i]
        return lease === undefined ? storeDecisions[i] : leasedDecision(lease, cost, now)
      })
      return takeResult(parsed, decisions, allowed)
    }

    /** Takes from these limits at the store, all or none. */
    async function decideAtStore(indexes: readonly number[]): Promise<boolean> {
      const requestedLimits = indexes.map((i) => limits[i]!)
      const { allowed, decisions } = await leases.countCall(() => store.take(requestedLimits, call))
      for (const [j, i] of indexes.entries()) storeDecisions[i] = decisions[j]
      return allowed
    }

    function undoCharges(): Promise<void> {
      return undo(
        charged.map((i) => limits[i]!),
        charged.map((i) => storeDecisions[i]),
      )
    }

    /** The keys that are in use until the take ends. */
    const busyKeys: BusyKey[] = []
    /** The limits that the store has charged. */
    let charged: number[] = []
    try {
      for (const [i, limit] of limits.entries()) {
        if (limit.policy.leaseUs > 0) leaseOf[i] = await setAside(limit, busyKeys, call)
      }
      for (;;) {
        const now = leases.now()
        for (const [i, lease] of leaseOf.entries()) {
          if (lease === undefined || isAlive(lease, now)) continue
          leaseOf[i] = undefined
          leases.unsetAside(lease, limits[i]!.cost)
        }
        const undecided = limits
          .map((_, i) => i)
          .filter((i) => leaseOf[i] === undefined && !charged.includes(i))
        if (undecided.length === 0) break
        if (!(await decideAtStore(undecided))) {
          returnAll()
          await undoCharges()
          for (const i of charged) storeDecisions[i] = withoutId(storeDecisions[i]!)
          return resultOf(false)
        }
        charged = [...charged, ...undecided]
      }
    } catch (error) {
      returnAll()
      await undoCharges()
      throw error
    } finally {
      for (const busy of busyKeys) busy.uses--
    }
    leases.countLeased(leaseOf.filter((lease) => lease !== undefined).length)
    return resultOf(true)
  }
}

/** Removes the id of a slot that was released again. */
function withoutId({ id: _, ...decision }: Decision): Decision {
  return decision
}
