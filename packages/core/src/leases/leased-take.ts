import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import { type Limit, type Limits, limitsOf } from '../store/requests.js'
import type { Call, FullStore, Store, TakeRequest, TakeResult } from '../store/store.js'
import type { BusyKey } from './busy-keys.js'
import type { HeldLeases } from './held-leases.js'
import { isAlive, isGivenBack, type Lease, leasedDecision } from './lease.js'

export interface LeasedTakeOptions {
  store: Store
  leases: HeldLeases
}

/**
 * A take of several limits, all or nothing, whose leased limits are decided in this process. Their units are set aside
 * first; then the store decides the other limits in one call. A lease that ended before the answer came no longer counts:
 * the store decides that limit too.
 */
export function createLeasedTake({ store, leases }: LeasedTakeOptions) {
  /** Units of a lease for this limit; undefined if the store must decide it. */
  async function setAside(
    { policy, key, cost }: Limit,
    held: BusyKey[],
    call?: Call,
  ): Promise<Lease | undefined> {
    const busy = leases.arrive(policy, key)
    if (busy === undefined) return undefined
    busy.uses++
    held.push(busy)
    const lease = leases.setAside(busy, cost)
    if (lease !== undefined) return lease
    if (busy.pending !== undefined) {
      await busy.pending
      const afterWait = leases.setAside(busy, cost)
      if (afterWait !== undefined) return afterWait
    }
    // A denial here would be charged, and again by the take.
    if (policy.countDenied) return undefined
    const granted = await leases.requestLease(busy, cost, call)
    if (granted?.decision.degraded === 'local' && granted.decision.allowed) {
      // Counted in this process, as the take will be.
      const { timeMs, degraded } = granted.decision
      await store.refund({ policy, key, timeMs, cost, degraded })
    }
    return granted?.lease
  }

  /** Gives back the units that a take got from the store before another limit denied it. */
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

    /** For each limit: its units here, or the decision of the store. */
    const aside: (Lease | undefined)[] = limits.map(() => undefined)
    const decided: (Decision | undefined)[] = limits.map(() => undefined)

    function returnAll(): void {
      for (const [i, lease] of aside.entries())
        if (lease !== undefined) leases.unsetAside(lease, limits[i]!.cost)
    }

    function resultOf(allowed: boolean): TakeResult {
      const now = leases.now()
      const decisions = limits.map(({ cost }, i) => {
        const lease = aside[i]
        return lease === undefined ? decided[i] : leasedDecision(lease, cost, now)
      })
      return takeResultOf(parsed, decisions, allowed)
    }

    /** Lets the store decide these limits, all or none. */
    async function decide(indexes: readonly number[]): Promise<boolean> {
      const some = indexes.map((i) => limits[i]!)
      const { allowed, decisions } = await leases.countCall(() => store.take(some, call))
      for (const [j, i] of indexes.entries()) decided[i] = decisions[j]
      return allowed
    }

    /** The keys whose units are aside until the take is over. */
    const held: BusyKey[] = []
    /** The limits that the store has charged. */
    let charged: number[] = []
    try {
      for (const [i, limit] of limits.entries()) {
        if (limit.policy.leaseUs > 0) aside[i] = await setAside(limit, held, call)
      }
      for (;;) {
        const now = leases.now()
        for (const [i, lease] of aside.entries()) {
          if (lease === undefined || isAlive(lease, now)) continue
          aside[i] = undefined
          leases.unsetAside(lease, limits[i]!.cost)
        }
        const open = limits.map((_, i) => i).filter((i) => aside[i] === undefined && !charged.includes(i))
        if (open.length === 0) break
        if (!(await decide(open))) {
          returnAll()
          const before = charged.map((i) => limits[i]!)
          await undo(
            before,
            charged.map((i) => decided[i]),
          )
          for (const i of charged) decided[i] = withoutId(decided[i]!)
          return resultOf(false)
        }
        charged = [...charged, ...open]
      }
    } catch (error) {
      returnAll()
      const before = charged.map((i) => limits[i]!)
      await undo(
        before,
        charged.map((i) => decided[i]),
      )
      throw error
    } finally {
      for (const busy of held) busy.uses--
    }
    leases.countLeased(aside.filter((lease) => lease !== undefined).length)
    return resultOf(true)
  }
}

function takeResultOf(
  { limitOfRequest, costs }: Limits,
  decisions: readonly (Decision | undefined)[],
  allowed: boolean,
): TakeResult {
  return {
    allowed,
    decisions: costs.map((cost, i) => {
      const decision = decisions[limitOfRequest[i]!]
      return decision && { ...decision, cost }
    }),
    retryAfterMs: allowed ? 0 : Math.max(...decisions.map((decision) => decision?.retryAfterMs ?? 0)),
    delayMs: allowed ? Math.max(...decisions.map((decision) => decision?.delayMs ?? 0)) : 0,
  }
}

/** For a slot that was released again. */
function withoutId({ id: _, ...decision }: Decision): Decision {
  return decision
}
