import type { Policy } from './policy.js'

/** Whether two policies have equal numbers, in any notation. Ignores the name, `onStoreFailure` and `instances`. */
export function sameNumbers(a: Policy, b: Policy): boolean {
  if (a === b) return true
  if (a.algorithm !== b.algorithm || a.limit !== b.limit) return false
  if (a.blockForUs !== b.blockForUs || a.countDenied !== b.countDenied) return false
  if (a.leaseUs !== b.leaseUs || a.lease?.share !== b.lease?.share) return false
  return samePace(a, b)
}

/** Whether two policies have the same algorithm and the same window, rate or ttl. Ignores their limits. */
export function samePace(a: Policy, b: Policy): boolean {
  if (a.algorithm !== b.algorithm) return false
  if (a.algorithm === 'concurrency') return a.ttlUs === (b as typeof a).ttlUs
  if (!('windowUs' in a)) return a.n === (b as typeof a).n && a.d === (b as typeof a).d
  if (a.windowUs !== (b as typeof a).windowUs) return false
  if (a.algorithm !== 'fixed-window') return true
  const other = b as typeof a
  if (a.windowKind !== other.windowKind) return false
  return a.windowKind !== 'calendar' || (a.window === other.window && a.timeZone === other.timeZone)
}
