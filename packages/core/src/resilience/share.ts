import { definePolicy, type LeakyBucketPolicy, type Policy, type TokenBucketPolicy } from '../policy/index.js'
import { nearestFittingRate, type Rate } from '../units/rate.js'

/**
 * One process's share of a policy: limit and rate divided by `instances`. The limit is rounded down, but is at least 1.
 */
export function shareOf<P extends Policy>(policy: P): P {
  if (policy.instances === 1) return policy
  let share = shares.get(policy) as P | undefined
  if (share === undefined) {
    share = divided(policy) as P
    shares.set(policy, share)
  }
  return share
}

const shares = new WeakMap<Policy, Policy>()

function divided(policy: Policy): Policy {
  // Local counts have no leases.
  const { instances, lease: _, ...options } = policy
  const limit = Math.max(1, Math.floor(policy.limit / instances))
  const share = 'full' in policy ? dividedBucket(policy, instances, limit) : { limit }
  return definePolicy({ ...inUnits(options), ...share })
}

/** Writes durations with a unit, because a number that looks like seconds would print a warning. */
function inUnits({ window, blockFor, ...options }: { window?: number | string; blockFor?: number }): object {
  return {
    ...options,
    ...(window === undefined ? {} : { window: typeof window === 'number' ? `${window}ms` : window }),
    ...(blockFor === undefined ? {} : { blockFor: `${blockFor}ms` }),
  }
}

function dividedBucket(
  { algorithm, n, d }: TokenBucketPolicy | LeakyBucketPolicy,
  instances: number,
  capacity: number,
): object {
  const rate = dividedRate(n, d, instances, capacity)
  return algorithm === 'token-bucket' ? { capacity, refillRate: rate } : { capacity, leakRate: rate }
}

function dividedRate(n: number, d: number, instances: number, capacity: number): Rate {
  const perSecond = (n / d / instances) * 1_000_000
  // Above one unit per microsecond, a whole number per second is precise enough, and a fraction could be too long. A rate
  // that fills the bucket within one microsecond is the highest useful rate.
  if (perSecond >= 1_000_000) return Math.floor(Math.min(perSecond, capacity * 1_000_000))
  // Exact, unless the number of instances makes the fraction too large or the rate slower than one per year.
  return nearestFittingRate(capacity, { n: BigInt(n), d: BigInt(d) * BigInt(instances) })
}
