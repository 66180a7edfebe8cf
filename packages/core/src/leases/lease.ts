import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { TakeUpToResult } from '../store/full-store.js'

/** A time on both of this process's clocks, in milliseconds. */
export interface Moment {
  /** By a monotonic clock, which can stand still while the machine is suspended. */
  readonly ms: number
  /** By the wall clock, which does not stand still but can step. */
  readonly wallMs: number
}

/**
 * Units that this process has taken from the store and can spend without calling it. Two rules bound the admitted units:
 * units are spent only while the lease is alive, and its lifetime starts when the call was sent.
 */
export interface Lease {
  readonly policy: Policy
  readonly key: string
  /** The generation of its key when the call was sent: see `BusyKey`. */
  readonly generation: number
  readonly sent: Moment
  /** How long the units can be spent, from `sent` on. */
  readonly lifeMs: number
  /** The number of leased units. */
  readonly units: number
  /** The number of units that are neither spent nor set aside. */
  unitsLeft: number
  /** The decision of the store that took the units. */
  readonly decision: Decision
}

/** Creates a lease of the taken units. The check that made the call has already spent `ownUnits` of them. */
export function leaseOf(
  { policy, key, generation }: Pick<Lease, 'policy' | 'key' | 'generation'>,
  result: TakeUpToResult,
  sent: Moment,
  ownUnits: number,
): Lease {
  const { taken: units, decision } = result
  return {
    policy,
    key,
    generation,
    sent,
    lifeMs: lifeMsOf(policy, result),
    units,
    unitsLeft: units - ownUnits,
    decision,
  }
}

/** The lifetime of a lease: `maxAge`, but not beyond the end of the window that the units count in. */
function lifeMsOf(policy: Policy, { decision, windowEndMs }: TakeUpToResult): number {
  const maxAgeMs = policy.leaseUs / 1000
  const untilEndMs = windowEndMs === undefined ? maxAgeMs : windowEndMs - decision.timeMs
  return Math.min(maxAgeMs, untilEndMs) * (1 - MAX_CLOCK_DRIFT)
}

/** The assumed maximum drift of this process's clock against the store's: twice the maximum slew rate of NTP. */
const MAX_CLOCK_DRIFT = 0.001

/**
 * Whether the units can still be spent. The wall clock detects a suspended machine, which the monotonic clock may miss. A
 * wall clock that was set back could hide that, so it ends the lease.
 */
export function isAlive({ sent, lifeMs }: Lease, now: Moment): boolean {
  const passedWallMs = now.wallMs - sent.wallMs
  return now.ms - sent.ms < lifeMs && passedWallMs >= 0 && passedWallMs < lifeMs
}

/** Spends units, or sets them aside. Returns false if there are too few, or the lease has ended. */
export function spend(lease: Lease, cost: number, now: Moment): boolean {
  if (lease.unitsLeft < cost || !isAlive(lease, now)) return false
  lease.unitsLeft -= cost
  return true
}

/** Returns spent units to the lease. Returns their number, at most the number of spent units. */
export function putBack(lease: Lease, cost: number): number {
  const returnedUnits = Math.min(cost, lease.units - lease.unitsLeft)
  lease.unitsLeft += returnedUnits
  return returnedUnits
}

/**
 * Whether unspent units are given back to the store when the lease ends. Not for a token bucket: it has refilled without
 * these units in the meantime, and would admit more than its bound.
 */
export function isGivenBack({ algorithm }: Policy): boolean {
  return algorithm !== 'token-bucket'
}

/** The decision of a check that spent units of this lease. */
export function leasedDecision(lease: Lease, cost: number, now: Moment): Decision {
  const { decision, sent, unitsLeft } = lease
  // An upper bound for the time since the store decided. The lifetime of the lease keeps it within the window.
  const passedMs = now.ms - sent.ms
  return {
    allowed: true,
    limit: decision.limit,
    cost,
    remaining: decision.remaining + unitsLeft,
    retryAfterMs: 0,
    resetAfterMs: Math.max(0, toMicroseconds(decision.resetAfterMs - passedMs)),
    delayMs: 0,
    timeMs: toMicroseconds(decision.timeMs + passedMs),
    policy: decision.policy,
    leased: true,
    leasedAtMs: decision.timeMs,
  }
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
