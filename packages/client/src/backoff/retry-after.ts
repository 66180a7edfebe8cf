import { parseHttpDate } from '../http-date.js'

/**
 * Parses `Retry-After`, which has seconds or a date (RFC 9110, 10.2.3), and returns milliseconds. Returns undefined if the
 * header is missing or invalid, such as `-1`, `1.5` and `soon`.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const untilMs = parseHttpDate(value, nowMs)
  return untilMs === undefined ? undefined : Math.max(0, untilMs - serverTimeMs(headers, nowMs))
}

/**
 * The server's time by its `Date` header, else the local time: the local clock may differ by minutes. `Date` is rounded
 * down to a second, which can only make a wait longer.
 */
export function serverTimeMs(headers: Headers, nowMs: number): number {
  return parseHttpDate(headers.get('date'), nowMs) ?? nowMs
}
