import type { RatePolicy } from '../policy/index.js'

/** An admitted request, as observed by its caller, with times of the store's clock. */
export interface Admission {
  startMs: number
  endMs: number
  cost: number
}

/**
 * Returns a proof, as text, that more units were admitted than the algorithm allows; undefined if there is none. A request
 * was admitted at some time between its start and its end, so only requests entirely within an interval count. A policy with
 * a lease is verified by its written numbers, not by the reduced ones.
 */
export function findOverAdmission(policy: RatePolicy, history: readonly Admission[]): string | undefined {
  const sorted = [...history].sort((a, b) => a.startMs - b.startMs)
  switch (policy.algorithm) {
    case 'fixed-window':
      return inWindows(policy.limit, Number(policy.window), sorted)
    case 'sliding-window-log':
      return inIntervals(sorted, (lengthMs) => (lengthMs < policy.window ? policy.limit : Infinity))
    case 'sliding-window-counter':
      return byEstimate(policy.limit, policy.window, sorted)
    case 'token-bucket':
      return inIntervals(sorted, (lengthMs) => policy.capacity + (policy.n * 1000 * lengthMs) / policy.d)
    case 'leaky-bucket':
      return inIntervals(sorted, (lengthMs) => policy.capacity + (policy.n * 1000 * lengthMs) / policy.d)
  }
}

function inWindows(limit: number, windowMs: number, history: readonly Admission[]): string | undefined {
  const counts = new Map<number, number>()
  for (const admission of history) {
    const window = windowOf(admission, windowMs)
    if (window === undefined) continue
    const count = (counts.get(window) ?? 0) + admission.cost
    counts.set(window, count)
    if (count > limit) return `${count} of ${limit} in the window that begins at ${window * windowMs}`
  }
  return undefined
}

/** The number of the window that an admission lies entirely in. */
function windowOf({ startMs, endMs }: Admission, windowMs: number): number | undefined {
  const window = Math.floor(startMs / windowMs)
  return Math.floor(endMs / windowMs) === window ? window : undefined
}

/** Compares the units in each interval from a start to a later end with the bound for its length. */
function inIntervals(
  history: readonly Admission[],
  boundOf: (lengthMs: number) => number,
): string | undefined {
  for (const [i, { startMs }] of history.entries()) {
    const ends = history.slice(i).sort((a, b) => a.endMs - b.endMs)
    let count = 0
    for (const { endMs, cost } of ends) {
      count += cost
      const bound = boundOf(endMs - startMs)
      if (bound === Number.POSITIVE_INFINITY) break
      if (count > bound + ROUNDING) return `${count} of ${bound} from ${startMs} to ${endMs}`
    }
  }
  return undefined
}

/** Compares with the estimate of the algorithm, from admissions entirely within each window, at its minimum. */
function byEstimate(limit: number, windowMs: number, history: readonly Admission[]): string | undefined {
  const byEnd = [...history].sort((a, b) => a.endMs - b.endMs)
  for (const admission of history) {
    const { startMs, endMs, cost } = admission
    const window = windowOf(admission, windowMs)
    if (window === undefined) continue
    let [curr, prev] = [0, 0]
    for (const other of byEnd) {
      if (other.endMs > startMs) break
      // The last admission at a time includes all others at that time.
      if (other === admission) continue
      const otherWindow = windowOf(other, windowMs)
      if (otherWindow === window) curr += other.cost
      else if (otherWindow === window - 1) prev += other.cost
    }
    const used = curr + Math.floor((prev * ((window + 1) * windowMs - endMs)) / windowMs)
    if (used + cost > limit) return `${used} + ${cost} of ${limit} at ${endMs}`
  }
  return undefined
}

const ROUNDING = 1e-6
