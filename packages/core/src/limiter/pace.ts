import type { RatePolicy } from '../policy/index.js'

/**
 * How far apart a policy admits calls that wait in line, as lower bounds: a call must not be rejected at once if it could
 * have been in time.
 */
export interface Pace {
  /**
   * How many units a call with this cost takes away from the calls behind it for certain. Windows leave units unused that
   * are too few for the next call. If that call then times out, a smaller one behind it can still get them.
   */
  weigh(cost: number): number
  /**
   * The least time in milliseconds from the moment when `first` units fit until the `last` ones of all `units` have been
   * taken, and with a leaky bucket may leave, if no others come.
   */
  leastMs(first: number, units: number, last: number): number
}

export function paceOf(policy: RatePolicy): Pace {
  switch (policy.algorithm) {
    case 'token-bucket':
      return { weigh: (cost) => cost, leastMs: (first, units) => bucketMs(policy, units - first) }
    case 'leaky-bucket':
      // The bucket is full when the last units get in, and they leave after all others.
      return {
        weigh: (cost) => cost,
        leastMs: (first, units, last) => bucketMs(policy, units - first + policy.limit - last),
      }
    case 'sliding-window-counter':
      // Each of the two windows that it counts admits up to the limit.
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
  // Calendar windows differ in length, and are about as long as the longest timeout.
  return typeof window === 'number' ? Math.max(0, windows) * window : 0
}
