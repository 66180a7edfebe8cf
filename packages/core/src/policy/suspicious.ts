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
 * What to write instead of a number of milliseconds that looks like seconds, such as 60; undefined for other values. A
 * duration with a unit, such as `'60ms'`, is not suspicious.
 */
export function suspiciousDuration(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) return undefined
  if (value >= 100 && !COMMON_SECONDS.includes(value)) return undefined
  return `${value} is ${value} milliseconds. Write '${value}s' for seconds, or '${value}ms' to keep milliseconds`
}

/** Warns once about a duration that looks like seconds. */
export function warnIfSuspicious(field: string, value: unknown): void {
  const advice = suspiciousDuration(value)
  if (advice === undefined) return
  const text = `${field}: ${advice}.`
  if (printed.has(text) || printed.size >= MAX_PRINTED) return
  printed.add(text)
  warn('POLICY_SUSPICIOUS', text)
}
