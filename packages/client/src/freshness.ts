import { type Directives, secondsOf } from './cache-control.js'
import { parseHttpDate } from './http-date.js'

/** When an answer was asked for and when it came, in milliseconds since the epoch. */
export interface Times {
  readonly askedMs: number
  readonly cameMs: number
}

/** For how long after its origin made it an answer says it is good, to a cache that one client has. */
export function lifetimeMs(headers: Headers, directives: Directives, { cameMs }: Times): number {
  // Not s-maxage: that is for caches that clients share.
  const maxAgeMs = secondsOf(directives, 'max-age')
  if (maxAgeMs !== undefined) return maxAgeMs
  const expires = headers.get('expires')
  if (expires === null) return 0
  const madeMs = parseHttpDate(headers.get('date'), cameMs) ?? cameMs
  const expiresMs = parseHttpDate(expires, cameMs)
  return expiresMs === undefined ? 0 : Math.max(0, expiresMs - madeMs)
}

/** How old an answer was when it came, by the larger of two measures (RFC 9111, 4.2.3). */
export function initialAgeMs(headers: Headers, { askedMs, cameMs }: Times): number {
  const madeMs = parseHttpDate(headers.get('date'), cameMs) ?? cameMs
  const age = headers.get('age') ?? ''
  const toldMs = /^\d+$/.test(age) ? Number(age) * 1000 : 0
  return Math.max(0, cameMs - madeMs, toldMs + Math.max(0, cameMs - askedMs))
}
