import { sharedByCopies } from '../copies.js'
import { warn } from '../warn.js'

/** The printed warnings, so that each is printed once. */
const printed = sharedByCopies('suspicious policies', () => new Set<string>())
const MAX_PRINTED = 100

/** Minutes, hours, days and a week, in seconds. */
const COMMON_SECONDS: readonly number[] = [
  120, 180, 240, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800,
]

/**
 * Warns about a number of milliseconds that looks like seconds: `window: 60` means 60 milliseconds. A duration with a unit,
 * such as `'60ms'`, never causes a warning.
 */
export function warnIfSuspicious(field: string, value: unknown): void {
  if (typeof value !== 'number') return
  if (value >= 100 && !COMMON_SECONDS.includes(value)) return
  const text = `${field}: ${value} is ${value} milliseconds. Write '${value}s' for seconds, or '${value}ms' to keep milliseconds.`
  if (printed.has(text) || printed.size >= MAX_PRINTED) return
  printed.add(text)
  warn('POLICY_SUSPICIOUS', text)
}
