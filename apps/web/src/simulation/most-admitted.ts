import type { RatePolicy } from '@tidegate/core'
import type { AlgorithmState } from './state.js'
import { worstWindowSoFar } from './times.js'

/**
 * The bound that an algorithm promises, as a running maximum: entry i counts the first i + 1 of ascending `admittedMs`.
 *
 * - fixed window and counter: the most in one window
 * - log: the most in any window
 * - buckets: the largest burst, which is the excess over the refill of any interval
 */
export function mostAdmittedSoFar(
  policy: RatePolicy,
  originMs: number,
  admittedMs: readonly number[],
): number[] {
  switch (policy.algorithm) {
    case 'fixed-window':
    case 'sliding-window-counter':
      return fullestWindowSoFar(originMs, admittedMs, Number(policy.window))
    case 'sliding-window-log':
      return worstWindowSoFar(admittedMs, policy.window)
    default:
      return largestBurstSoFar(admittedMs, (1000 * policy.n) / policy.d)
  }
}

/** The most that a limiter should admit in any window. A bucket adds what is refilled or leaks in the meantime. */
export function windowBound(state: AlgorithmState, limit: number): number {
  return 'capacity' in state ? state.capacity + limit : limit
}

function fullestWindowSoFar(originMs: number, admittedMs: readonly number[], windowMs: number): number[] {
  let [most, count, window] = [0, 0, Number.NaN]
  return admittedMs.map((at) => {
    const next = Math.floor((originMs + at) / windowMs)
    count = next === window ? count + 1 : 1
    window = next
    most = Math.max(most, count)
    return most
  })
}

/** Rounded up, because a part of a unit is not admitted. */
function largestBurstSoFar(admittedMs: readonly number[], unitsPerMs: number): number[] {
  let [largest, burst] = [0, 0]
  return admittedMs.map((at, i) => {
    const passedMs = at - (admittedMs[i - 1] ?? at)
    burst = Math.max(0, burst - passedMs * unitsPerMs) + 1
    largest = Math.max(largest, burst)
    return Math.ceil(largest - ROUNDING)
  })
}

const ROUNDING = 1e-6
