import type { Clock } from '../clock.js'
import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { Call, FullStore, MaybePromise, Store, TakeUpToResult } from '../store/store.js'
import { storeClosed } from '../store/store-error.js'
import type { Timers } from '../timers.js'
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

/** Counts of policies with a lease. */
export interface LeaseCounts {
  /** Checks, and limits of takes. */
  readonly checks: number
  /** Those that were decided from units in this process. */
  readonly leasedChecks: number
  /** Calls to the store: for checks, for leases, and to give units back. */
  readonly storeCalls: number
  /** Leased units that are not spent yet. */
  readonly unitsInHand: number
  /** Leased units that were not spent while their lease was alive. All but those of token buckets are given back. */
  readonly unitsLapsed: number
}

/** The decision of a call for a lease, for the check that made it. */
interface Granted {
  readonly decision: Decision
  /** The lease that the check's own units belong to; undefined if they are not leased. */
  readonly lease: Lease | undefined
}

export interface HeldLeasesOptions {
  store: Store & Pick<FullStore, 'takeUpTo'>
  /** How many processes share the store, as far as is known beside the policy's own number. */
  instances: () => number
  timers: Timers
  clock: Clock
}

/** The leases that this process holds. */
export function createHeldLeases({ store, instances, timers, clock }: HeldLeasesOptions) {
  const keys = createBusyKeys(timers.now)
  /** The leases with units left. One timer ends all of them. */
  const watched = new Set<Lease>()
  let timer: unknown
  let sweepAtMs = Number.POSITIVE_INFINITY
  let isClosed = false
  const counts = { checks: 0, leasedChecks: 0, storeCalls: 0, unitsLapsed: 0 }

  function now(): Moment {
    return { ms: timers.now(), wallMs: clock.nowUs() / 1000 }
  }

  /** Gives back the units that are left when the lease ends. */
  function watch(lease: Lease): void {
    if (lease.left === 0 || watched.has(lease)) return
    watched.add(lease)
    sweepBy(endMsOf(lease))
  }

  /** Sweeps at this moment or earlier. Leases of other policies may end sooner than the lease that the timer is for. */
  function sweepBy(ms: number): void {
    if (ms >= sweepAtMs) return
    timers.cancel(timer)
    sweepAtMs = ms
    timer = timers.after(Math.max(1, Math.ceil(ms - timers.now())), sweep)
    timers.unref(timer)
  }

  function sweep(): void {
    sweepAtMs = Number.POSITIVE_INFINITY
    const at = now()
    let nextMs = Number.POSITIVE_INFINITY
    for (const lease of watched) {
      if (isAlive(lease, at)) nextMs = Math.min(nextMs, endMsOf(lease))
      else lapse(lease)
    }
    sweepBy(nextMs)
  }

  /** Ends a lease: units that are left can no longer be spent. */
  function lapse(lease: Lease): void {
    watched.delete(lease)
    const busy = keys.find(lease.policy, lease.key)
    if (busy?.lease === lease) busy.lease = undefined
    const { left } = lease
    lease.left = 0
    if (left > 0) void giveBack(lease, left)
  }

  /** Gives units back that were not spent. A call that fails is not repeated: the units stay charged. */
  async function giveBack({ policy, key, decision, generation }: Lease, units: number): Promise<void> {
    counts.unitsLapsed += units
    if (!isGivenBack(policy) || isClosed || keys.find(policy, key)?.generation !== generation) return
    counts.storeCalls++
    try {
      await store.refund({ policy, key, timeMs: decision.timeMs, cost: units })
    } catch {}
  }

  /** Records the lease that a call returned, without the units of the check that made the call. */
  function grant(
    busy: BusyKey,
    result: TakeUpToResult,
    sent: Moment,
    cost: number,
    generation: number,
  ): Granted {
    const { taken, decision } = result
    // Decided without the store: nothing was leased.
    if (taken === 0 || decision.degraded !== undefined) return { decision, lease: undefined }
    if (busy.generation !== generation) {
      counts.unitsLapsed += taken - cost
      return { decision: { ...decision, cost }, lease: undefined }
    }
    const lease = leaseOf(busy, result, sent, cost)
    const own = { ...decision, cost, remaining: decision.remaining + lease.left }
    if (busy.lease !== undefined) lapse(busy.lease)
    busy.lease = lease
    if (isAlive(lease, now())) watch(lease)
    else lapse(lease)
    return { decision: own, lease }
  }

  return {
    now,
    watch,
    find: keys.find,

    /** A check of a policy with a lease. Undefined if its key is not followed. */
    arrive(policy: Policy, key: string): BusyKey | undefined {
      if (isClosed) throw storeClosed()
      counts.checks++
      const busy = keys.obtain(policy, key)
      if (busy !== undefined) busy.arrivals++
      return busy
    },

    /** The decision, if there are units in this process. */
    spendHere(busy: BusyKey, cost: number): Decision | undefined {
      const { lease } = busy
      if (lease === undefined || lease.left < cost) return undefined
      const at = now()
      if (!spend(lease, cost, at)) return undefined
      counts.leasedChecks++
      return leasedDecision(lease, cost, at)
    },

    /** Sets units in this process aside for a take. */
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
     * Requests a lease from the store that begins with `cost` units for this check. Undefined if the key is not busy enough,
     * or a call for a lease is in flight already.
     */
    requestLease(busy: BusyKey, cost: number, call: Call | undefined): Promise<Granted> | undefined {
      const { policy, key, pending, generation } = busy
      if (pending !== undefined) return undefined
      const sent = now()
      const checks = Math.floor(arrivalsOf(busy, sent.ms))
      // An average, or a number that is not known yet. The limit holds whatever it is.
      const processes = Math.max(policy.instances, Math.ceil(instances()) || 1)
      const max = Math.min(checks * cost, largestLease(policy, processes))
      if (checks < 2 || max <= cost) return undefined
      const granted = (async () => {
        counts.storeCalls++
        try {
          const divisor = Math.min(MAX_DIVISOR, 2 * processes)
          const result = await store.takeUpTo({ policy, key, min: cost, max, divisor }, call)
          return grant(busy, result, sent, cost, generation)
        } finally {
          busy.pending = undefined
        }
      })()
      busy.pending = granted.then(ignore, ignore)
      return granted
    },

    countCall<T>(send: () => MaybePromise<T>): MaybePromise<T> {
      counts.storeCalls++
      return send()
    },

    /** Ends the lease of a key and gives back its remaining units. One that is in flight is not used. */
    endLease(policy: Policy, key: string): void {
      const busy = keys.find(policy, key)
      if (busy === undefined) return
      if (busy.lease !== undefined) lapse(busy.lease)
      busy.generation++
    },

    /** Ends the lease of a key, and one that is in flight. Nothing is given back. */
    dropLease(policy: Policy, key: string): void {
      const busy = keys.find(policy, key)
      if (busy === undefined) return
      const { lease } = busy
      endGeneration(busy)
      // Gives nothing back, because the generation has ended.
      if (lease !== undefined) lapse(lease)
    },

    counts: (): LeaseCounts => {
      let unitsInHand = 0
      for (const { left } of watched) unitsInHand += left
      return { ...counts, unitsInHand }
    },

    /** Gives everything back. */
    async close(): Promise<void> {
      const leases = [...watched]
      watched.clear()
      timers.cancel(timer)
      const given = leases.map((lease) => {
        const { left } = lease
        lease.left = 0
        return giveBack(lease, left)
      })
      isClosed = true
      await Promise.all(given)
    },
  }
}

export type HeldLeases = ReturnType<typeof createHeldLeases>

/** When a lease ends, by the clock that never steps back. */
function endMsOf({ sent, lifeMs }: Lease): number {
  return sent.ms + lifeMs
}

/** The most units of one lease, so that all processes together hold at most `share` of the limit. */
function largestLease({ lease, limit }: Policy, processes: number): number {
  return Math.floor((lease!.share * limit) / processes)
}

const MAX_DIVISOR = 1_000_000

function ignore(): void {}
