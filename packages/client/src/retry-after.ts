import { parseHttpDate } from './http-date.js'

/**
 * How long `Retry-After` asks to wait, in milliseconds: seconds, or until a date (RFC 9110, 10.2.3). Undefined
 * if it is not there, and for anything else: `-1`, `1.5` and `soon` are no waits.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const untilMs = parseHttpDate(value, nowMs)
  return untilMs === undefined ? undefined : Math.max(0, untilMs - serverTimeMs(headers, nowMs))
}

/**
 * What time it is for the server, where it says so: its dates are on its own clock, and ours may be minutes
 * off. `Date` is cut to the second, which can only make a wait longer.
 */
export function serverTimeMs(headers: Headers, nowMs: number): number {
  return parseHttpDate(headers.get('date'), nowMs) ?? nowMs
}
