import { assertKey } from '../key.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy/index.js'
import type { Lease } from './lease.js'

/** A recently checked key of a policy with a lease. */
export interface BusyKey {
  policy: Policy
  readonly key: string
  /** The number of checks within the last `maxAge`, as of `measuredMs`: an exponentially decayed average. */
  rate: number
  measuredMs: number
  /** The number of checks since `measuredMs`. */
  arrivals: number
  lease: Lease | undefined
  /** The lease call in flight; it never rejects. */
  pending: Promise<void> | undefined
  /** The number of takes that have units of this key set aside, plus the checks that wait for its lease. */
  uses: number
  /** Incremented when earlier leases must neither be spent nor given back, for example after a reset. */
  generation: number
}

/** The maximum number of tracked keys. Checks of further keys are not leased. */
const MAX_KEYS = 100_000
/** More than one, so that idle keys are removed faster than new keys arrive. */
const SWEPT_PER_NEW_KEY = 2

/** Tracks the keys that were checked within about the last `maxAge`, in bounded memory. */
export function createBusyKeys(now: () => number) {
  const byPolicy = new Map<string, Map<string, BusyKey>>()
  let size = 0
  let sweptAllMs = Number.NEGATIVE_INFINITY

  /** A key with units in this process or a lease call in flight is not idle: giving units back needs its generation. */
  function isIdle({ policy, measuredMs, lease, pending, uses }: BusyKey, nowMs: number): boolean {
    const isUsed = (lease !== undefined && lease.unitsLeft > 0) || pending !== undefined || uses > 0
    return !isUsed && nowMs - measuredMs > policy.leaseUs / 1000
  }

  /** Removes the oldest keys if they are idle. A key that is still busy moves to the end. */
  function sweep(keys: Map<string, BusyKey>, nowMs: number): void {
    for (let i = 0; i < SWEPT_PER_NEW_KEY; i++) {
      const oldest = keys.values().next().value
      if (oldest === undefined) return
      keys.delete(oldest.key)
      if (isIdle(oldest, nowMs)) size--
      else keys.set(oldest.key, oldest)
    }
  }

  /** Runs at most once a second, because it checks every key. */
  function sweepAll(nowMs: number): void {
    if (nowMs - sweptAllMs < 1000) return
    sweptAllMs = nowMs
    for (const [name, keys] of byPolicy) {
      for (const busy of keys.values()) if (isIdle(busy, nowMs) && keys.delete(busy.key)) size--
      if (keys.size === 0) byPolicy.delete(name)
    }
  }

  return {
    find: (policy: Policy, key: string): BusyKey | undefined => byPolicy.get(policy.name)?.get(key),

    /** Finds or starts tracking a key; undefined if there are too many. Throws for an invalid policy or key. */
    obtain(policy: Policy, key: string): BusyKey | undefined {
      const busyKey = byPolicy.get(policy.name)?.get(key)
      if (busyKey !== undefined) {
        if (busyKey.policy !== policy) {
          assertPolicy(policy)
          // The store may already have converted the state.
          if (!sameNumbers(busyKey.policy, policy)) endGeneration(busyKey)
          busyKey.policy = policy
        }
        return busyKey
      }
      assertPolicy(policy)
      assertKey(key)
      const nowMs = now()
      if (size >= MAX_KEYS) sweepAll(nowMs)
      if (size >= MAX_KEYS) return undefined
      let keys = byPolicy.get(policy.name)
      if (keys === undefined) {
        keys = new Map()
        byPolicy.set(policy.name, keys)
      } else sweep(keys, nowMs)
      const added: BusyKey = {
        policy,
        key,
        rate: 0,
        measuredMs: nowMs,
        arrivals: 0,
        lease: undefined,
        pending: undefined,
        uses: 0,
        generation: 0,
      }
      keys.set(key, added)
      size++
      return added
    },
  }
}

/** Drops the lease of a key and any lease call in flight. Their units are not given back. */
export function endGeneration(busy: BusyKey): void {
  busy.lease = undefined
  busy.generation++
}

/** The number of checks within the last `maxAge`: the decayed rate, plus the arrivals since then, spread evenly. */
export function arrivalsOf(busy: BusyKey, nowMs: number): number {
  const age = Math.max(0, nowMs - busy.measuredMs) / (busy.policy.leaseUs / 1000)
  const faded = Math.exp(-age)
  // The last arrival is the current check, which has not decayed.
  const spread = age < 1e-6 ? 1 : (1 - faded) / age
  busy.rate = busy.rate * faded + Math.max(0, busy.arrivals - 1) * spread + Math.min(1, busy.arrivals)
  busy.arrivals = 0
  busy.measuredMs = nowMs
  return busy.rate
}
