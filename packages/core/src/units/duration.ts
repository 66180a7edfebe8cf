type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd'

/**
 * A duration: a number with a unit such as `'500ms'`, `'30s'`, `'1m'`, `'2h'` or `'1d'`, or milliseconds. The type accepts
 * any string, so that configuration values need no cast; invalid ones are rejected at run time.
 */
export type Duration = number | `${number}${DurationUnit}` | (string & {})

const UNIT_MS: Record<DurationUnit, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The longest window: a leap year. */
export const MAX_DURATION_MS = 366 * UNIT_MS.d

/** Converts a duration to milliseconds. Returns undefined if the input is not a duration. Does not check the range. */
export function parseDuration(input: unknown): number | undefined {
  if (typeof input === 'number') return input
  if (typeof input !== 'string') return undefined
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(input)
  if (!match) return undefined
  const ms = Number(match[1]) * UNIT_MS[match[2] as DurationUnit]
  // 1.005s is 1004.9999999999999 in doubles: round to the intended whole number.
  const whole = Math.round(ms)
  return Math.abs(ms - whole) < 1e-6 ? whole : ms
}
