import type { RatePolicy } from '../policy/index.js'

/**
 * Lower bounds for the times at which a policy admits waiting calls. They must never be too high, because a call whose
 * bound exceeds its timeout is rejected immediately.
 */
export interface Pace {
  /**
   * The number of units that a call with this cost certainly takes from later calls. In a window, units that are too few
   * for a large call stay unused, and go to a smaller call if the large one times out. So only costs of 1 count.
   */
  weigh(cost: number): number
  /**
   * The minimum time in milliseconds from when `first` units fit until the `last` of all `units` have been taken, and for
   * a leaky bucket have left, if there are no other requests.
   */
  leastMs(first: number, units: number, last: number): number
}

export function paceOf(policy: RatePolicy): Pace {
  switch (policy.algorithm) {
    case 'token-bucket':
      return { weigh: (cost) => cost, leastMs: (first, units) => bucketMs(policy, units - first) }
    case 'leaky-bucket':
      // The bucket is full when the last units are added, and they leave after all others.
      return {
        weigh: (cost) => cost,
        leastMs: (first, units, last) => bucketMs(policy, units - first + policy.limit - last),
      }
    case 'sliding-window-counter':
      // Each of the two counted windows admits up to the limit.
      return {
        weigh: weighInWindow,
        leastMs: (_, units) => windowsMs(policy, Math.ceil(units / policy.limit) - 2),
      }
    default:
      return {
        weigh: weighInWindow,
        leastMs: (_, units) => windowsMs(policy, Math.ceil(units / policy.limit) - 1),
      }
  }
}

function weighInWindow(cost: number): number {
  return cost === 1 ? 1 : 0
}

function bucketMs({ n, d }: { n: number; d: number }, units: number): number {
  return Math.floor((units * d) / n) / 1000
}

function windowsMs({ window }: { window: number | string }, windows: number): number {
  // Calendar windows differ in length, and are about as long as the maximum timeout.
  return typeof window === 'number' ? Math.max(0, windows) * window : 0
}
