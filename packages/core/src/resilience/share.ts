import { definePolicy, type Policy } from '../policy.js'
import { nearestFittingRate, type Rate } from '../units/rate.js'

/**
 * The share of one process in a limit that `instances` processes share: limit and rate divided by their number. The
 * limit is rounded down, but is at least 1.
 */
export function shareOf(policy: Policy): Policy {
  if (policy.instances === 1) return policy
  let share = shares.get(policy)
  if (share === undefined) {
    share = divided(policy)
    shares.set(policy, share)
  }
  return share
}

const shares = new WeakMap<Policy, Policy>()

function divided(policy: Policy): Policy {
  const { algorithm, name, instances } = policy
  const limit = Math.max(1, Math.floor(policy.limit / instances))
  if ('windowUs' in policy) return definePolicy({ algorithm, name, limit, window: policy.window })
  const rate = dividedRate(policy.n, policy.d, instances, limit)
  return algorithm === 'token-bucket'
    ? definePolicy({ algorithm, name, capacity: limit, refillRate: rate })
    : definePolicy({ algorithm, name, capacity: limit, leakRate: rate })
}

function dividedRate(n: number, d: number, instances: number, capacity: number): Rate {
  const perSecond = (n / d / instances) * 1_000_000
  // Above one per microsecond, a whole number per second is close enough, and a fraction could be too long to write. A
  // rate that fills the bucket in one microsecond is the fastest that makes a difference.
  if (perSecond >= 1_000_000) return Math.floor(Math.min(perSecond, capacity * 1_000_000))
  // Exact, unless the number of instances makes the fraction too large or the rate slower than one per year.
  return nearestFittingRate(capacity, { n: BigInt(n), d: BigInt(d) * BigInt(instances) })
}
