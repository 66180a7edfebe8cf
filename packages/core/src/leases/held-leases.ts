import type { Clock } from '../clock.js'
import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { FullStore, TakeUpToResult } from '../store/full-store.js'
import type { Call, MaybePromise, Store } from '../store/store.js'
import { storeClosed } from '../store/store-error.js'
import { createAlarm, type Timers } from '../timers.js'
import { arrivalsOf, type BusyKey, createBusyKeys, endGeneration } from './busy-keys.js'
import {
  isAlive,
  isGivenBack,
  type Lease,
  leasedDecision,
  leaseOf,
  type Moment,
  putBack,
  spend,
} from './lease.js'

/** Counters of a store with leases, over all policies with a lease. */
export interface LeaseCounts {
  /** The number of checks, and of limits in takes. */
  readonly checks: number
  /** The number of checks that were decided from leased units, without a call to the store. */
  readonly leasedChecks: number
  /** The number of calls to the store: for checks, for leases, and to give units back. */
  readonly storeCalls: number
  /** The number of leased units that are not spent yet. */
  readonly unitsInHand: number
  /** The number of leased units that were not spent in time. They are given back, except those of token buckets. */
  readonly unitsLapsed: number
}

/** The result of a lease call, for the check that made it. */
interface Grant {
  readonly decision: Decision
  /** The lease that the check's own units belong to; undefined if they are not leased. */
  readonly lease: Lease | undefined
}

export interface HeldLeasesOptions {
  store: Store & Pick<FullStore, 'takeUpTo'>
  /** How many processes share the store. The larger of this and the policy's `instances` counts. */
  instances: () => number
  timers: Timers
  clock: Clock
}

/** Manages the leases that this process holds. */
export function createHeldLeases({ store, instances, timers, clock }: HeldLeasesOptions) {
  const keys = createBusyKeys(timers.now)
  /** The leases with units left. One timer ends all of them. */
  const openLeases = new Set<Lease>()
  const alarm = createAlarm(timers, sweep)
  let isClosed = false
  const counts = { checks: 0, leasedChecks: 0, storeCalls: 0, unitsLapsed: 0 }

  function now(): Moment {
    return { ms: timers.now(), wallMs: clock.nowUs() / 1000 }
  }

  /** Gives back the unspent units when the lease ends. */
  function watch(lease: Lease): void {
    if (lease.unitsLeft === 0 || openLeases.has(lease)) return
    openLeases.add(lease)
    alarm.setBy(endMsOf(lease))
  }

  function sweep(): void {
    const at = now()
    let nextMs = Number.POSITIVE_INFINITY
    for (const lease of openLeases) {
      if (isAlive(lease, at)) nextMs = Math.min(nextMs, endMsOf(lease))
      else lapse(lease)
    }
    alarm.setBy(nextMs)
  }

  /** Ends a lease and gives back its unspent units. */
  function lapse(lease: Lease): void {
    openLeases.delete(lease)
    const busy = keys.find(lease.policy, lease.key)
    if (busy?.lease === lease) busy.lease = undefined
    const { unitsLeft } = lease
    lease.unitsLeft = 0
    if (unitsLeft > 0) void giveBack(lease, unitsLeft)
  }

  /** Gives unspent units back to the store. A failed call is not repeated: the units stay charged. */
  async function giveBack({ policy, key, decision, generation }: Lease, units: number): Promise<void> {
    counts.unitsLapsed += units
    if (!isGivenBack(policy) || isClosed || keys.find(policy, key)?.generation !== generation) return
    counts.storeCalls++
    try {
      await store.refund({ policy, key, timeMs: decision.timeMs, cost: units })
    } catch {}
  }

  /** Records the lease that a call returned, without the units of the check that made the call. */
  function recordGrant(
    busy: BusyKey,
    result: TakeUpToResult,
    sent: Moment,
    cost: number,
    generation: number,
  ): Grant {
    const { taken, decision } = result
    // A decision without the store leases nothing.
    if (taken === 0 || decision.degraded !== undefined) return { decision, lease: undefined }
    if (busy.generation !== generation) {
      counts.unitsLapsed += taken - cost
      return { decision: { ...decision, cost }, lease: undefined }
    }
    const lease = leaseOf(busy, result, sent, cost)
    const ownDecision = { ...decision, cost, remaining: decision.remaining + lease.unitsLeft }
    if (busy.lease !== undefined) lapse(busy.lease)
    busy.lease = lease
    if (isAlive(lease, now())) watch(lease)
    else lapse(lease)
    return { decision: ownDecision, lease }
  }

  return {
    now,
    watch,
    find: keys.find,

    /** Records a check of a policy with a lease. Returns undefined if its key is not tracked. */
    arrive(policy: Policy, key: string): BusyKey | undefined {
      if (isClosed) throw storeClosed()
      counts.checks++
      const busy = keys.obtain(policy, key)
      if (busy !== undefined) busy.arrivals++
      return busy
    },

    /** Spends units of the key's lease. Returns undefined if there are too few. */
    spendHere(busy: BusyKey, cost: number): Decision | undefined {
      const { lease } = busy
      if (lease === undefined || lease.unitsLeft < cost) return undefined
      const at = now()
      if (!spend(lease, cost, at)) return undefined
      counts.leasedChecks++
      return leasedDecision(lease, cost, at)
    },

    /** Sets units of the key's lease aside for a take. Returns undefined if there are too few. */
    setAside(busy: BusyKey, cost: number): Lease | undefined {
      const { lease } = busy
      return lease !== undefined && spend(lease, cost, now()) ? lease : undefined
    },

    /** Returns units that were set aside; they lapse if the lease has ended. */
    unsetAside(lease: Lease, cost: number): void {
      putBack(lease, cost)
      if (isAlive(lease, now())) watch(lease)
      else lapse(lease)
    },

    countLeased(units: number): void {
      counts.leasedChecks += units
    },

    /**
     * Requests a lease from the store, including `cost` units for this check. Returns undefined if the key is not busy
     * enough, or if a lease call is already in flight.
     */
    requestLease(busy: BusyKey, cost: number, call: Call | undefined): Promise<Grant> | undefined {
      const { policy, key, pending, generation } = busy
      if (pending !== undefined) return undefined
      const sent = now()
      const checks = Math.floor(arrivalsOf(busy, sent.ms))
      // `instances` can return an average or NaN. The limit holds for any value.
      const processes = Math.max(policy.instances, Math.ceil(instances()) || 1)
      const max = Math.min(checks * cost, largestLease(policy, processes))
      if (checks < 2 || max <= cost) return undefined
      const grant = (async () => {
        counts.storeCalls++
        try {
          const divisor = Math.min(MAX_DIVISOR, 2 * processes)
          const result = await store.takeUpTo({ policy, key, min: cost, max, divisor }, call)
          return recordGrant(busy, result, sent, cost, generation)
        } finally {
          busy.pending = undefined
        }
      })()
      busy.pending = grant.then(ignore, ignore)
      return grant
    },

    countCall<T>(send: () => MaybePromise<T>): MaybePromise<T> {
      counts.storeCalls++
      return send()
    },

    /** Ends the lease of a key and gives back its unspent units. A lease call in flight is discarded. */
    endLease(policy: Policy, key: string): void {
      const busy = keys.find(policy, key)
      if (busy === undefined) return
      if (busy.lease !== undefined) lapse(busy.lease)
      busy.generation++
    },

    /** Ends the lease of a key and any lease call in flight, without giving units back. */
    dropLease(policy: Policy, key: string): void {
      const busy = keys.find(policy, key)
      if (busy === undefined) return
      const { lease } = busy
      endGeneration(busy)
      // `lapse` gives nothing back, because the generation has ended.
      if (lease !== undefined) lapse(lease)
    },

    counts: (): LeaseCounts => {
      let unitsInHand = 0
      for (const { unitsLeft } of openLeases) unitsInHand += unitsLeft
      return { ...counts, unitsInHand }
    },

    /** Gives all unspent units back. */
    async close(): Promise<void> {
      const leases = [...openLeases]
      openLeases.clear()
      alarm.cancel()
      const refunds = leases.map((lease) => {
        const { unitsLeft } = lease
        lease.unitsLeft = 0
        return giveBack(lease, unitsLeft)
      })
      isClosed = true
      await Promise.all(refunds)
    },
  }
}

export type HeldLeases = ReturnType<typeof createHeldLeases>

/** When a lease ends, by the monotonic clock. */
function endMsOf({ sent, lifeMs }: Lease): number {
  return sent.ms + lifeMs
}

/** The maximum units of one lease, so that all processes together hold at most `share` of the limit. */
function largestLease({ lease, limit }: Policy, processes: number): number {
  return Math.floor((lease!.share * limit) / processes)
}

const MAX_DIVISOR = 1_000_000

function ignore(): void {}
