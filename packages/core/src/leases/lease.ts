import type { Decision } from '../decision.js'
import type { Policy } from '../policy/index.js'
import type { TakeUpToResult } from '../store/store.js'

/** A moment on this process's two clocks, in milliseconds. */
export interface Moment {
  /** By a clock that never steps back. It may stand still while the machine is suspended. */
  readonly ms: number
  /** By the wall clock. It does not stand still, but may step. */
  readonly wallMs: number
}

/**
 * Units that this process has taken from the store and may spend without it. The bound on what is admitted rests on two
 * rules: units are spent only while the lease is alive, and its life counts from the moment that the call was sent.
 */
export interface Lease {
  readonly policy: Policy
  readonly key: string
  /** The generation of its key when the call was sent: see `BusyKey`. */
  readonly generation: number
  readonly sent: Moment
  /** How long the units may be spent, counted from `sent`. */
  readonly lifeMs: number
  /** How many units were leased. */
  readonly units: number
  /** The units that are neither spent nor set aside. */
  left: number
  /** The decision of the store that took the units. */
  readonly decision: Decision
}

/** A lease of units that were taken. `own` of them are spent already, by the check that made the call. */
export function leaseOf(
  { policy, key, generation }: Pick<Lease, 'policy' | 'key' | 'generation'>,
  result: TakeUpToResult,
  sent: Moment,
  own: number,
): Lease {
  const { taken: units, decision } = result
  return {
    policy,
    key,
    generation,
    sent,
    lifeMs: lifeMsOf(policy, result),
    units,
    left: units - own,
    decision,
  }
}

/** Up to `maxAge`, but not beyond the end of the window that the units count in. */
function lifeMsOf(policy: Policy, { decision, windowEndMs }: TakeUpToResult): number {
  const maxAgeMs = policy.leaseUs / 1000
  const untilEndMs = windowEndMs === undefined ? maxAgeMs : windowEndMs - decision.timeMs
  return Math.min(maxAgeMs, untilEndMs) * (1 - MAX_CLOCK_DRIFT)
}

/** By how much this process's clock may run slower than the store's: twice the most that NTP corrects a clock by. */
const MAX_CLOCK_DRIFT = 0.001

/**
 * The wall clock shows that the machine was suspended, which the other clock may not. A wall clock that was set back could
 * hide it, and ends the lease.
 */
export function isAlive({ sent, lifeMs }: Lease, now: Moment): boolean {
  const passedWallMs = now.wallMs - sent.wallMs
  return now.ms - sent.ms < lifeMs && passedWallMs >= 0 && passedWallMs < lifeMs
}

/** Spends units, or sets them aside. False if there are not enough, or the lease has ended. */
export function spend(lease: Lease, cost: number, now: Moment): boolean {
  if (lease.left < cost || !isAlive(lease, now)) return false
  lease.left -= cost
  return true
}

/** Takes units back that were spent from this lease. Returns how many. */
export function putBack(lease: Lease, cost: number): number {
  const given = Math.min(cost, lease.units - lease.left)
  lease.left += given
  return given
}

/**
 * Whether unspent units go back to the store when the lease ends. A token bucket that got units back would have refilled
 * in the meantime without them, and would admit more than its bound.
 */
export function isGivenBack({ algorithm }: Policy): boolean {
  return algorithm !== 'token-bucket'
}

/** The decision of a check that spent units of this lease. */
export function leasedDecision(lease: Lease, cost: number, now: Moment): Decision {
  const { decision, sent, left } = lease
  // An upper bound of the time since the store decided; with it, the time is still within the window.
  const passedMs = now.ms - sent.ms
  return {
    allowed: true,
    limit: decision.limit,
    cost,
    remaining: decision.remaining + left,
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
