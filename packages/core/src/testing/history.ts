import type { RatePolicy } from '../policy/index.js'

/** An admitted request, as its caller saw it. The times are those of the store's clock. */
export interface Admission {
  startMs: number
  endMs: number
  cost: number
}

/**
 * Proof that more was admitted than the algorithm ever admits, as a text; undefined if there is none. An admission happened
 * at some moment between its start and its end, so only those count that lie entirely within an interval. The policy is
 * judged by the numbers that its user wrote, not by the smaller ones that a lease counts with.
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

/** From each start to each end after it, at most `boundOf` the length. */
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

/** The algorithm's own estimate, from the admissions that are certainly in each window, at the most generous moment. */
function byEstimate(limit: number, windowMs: number, history: readonly Admission[]): string | undefined {
  const byEnd = [...history].sort((a, b) => a.endMs - b.endMs)
  for (const admission of history) {
    const { startMs, endMs, cost } = admission
    const window = windowOf(admission, windowMs)
    if (window === undefined) continue
    let [curr, prev] = [0, 0]
    for (const other of byEnd) {
      if (other.endMs > startMs) break
      // The last admission of a moment counts all others of that moment.
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
