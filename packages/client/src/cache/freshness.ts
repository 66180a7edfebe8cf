import { parseHttpDate } from '../http-date.js'
import { type Directives, directiveMs } from './cache-control.js'

/** When a request was sent and its response received, in milliseconds since the epoch. */
export interface Times {
  readonly requestedMs: number
  readonly receivedMs: number
}

/** How long a response is fresh after its creation, for a private cache. */
export function lifetimeMs(headers: Headers, directives: Directives, { receivedMs }: Times): number {
  // Not s-maxage, which is for shared caches.
  const maxAgeMs = directiveMs(directives, 'max-age')
  if (maxAgeMs !== undefined) return maxAgeMs
  const expires = headers.get('expires')
  if (expires === null) return 0
  const createdMs = parseHttpDate(headers.get('date'), receivedMs) ?? receivedMs
  const expiresMs = parseHttpDate(expires, receivedMs)
  return expiresMs === undefined ? 0 : Math.max(0, expiresMs - createdMs)
}

/** The age of a response when it was received, the larger of two measures (RFC 9111, 4.2.3). */
export function initialAgeMs(headers: Headers, { requestedMs, receivedMs }: Times): number {
  const createdMs = parseHttpDate(headers.get('date'), receivedMs) ?? receivedMs
  const age = headers.get('age') ?? ''
  const ageHeaderMs = /^\d+$/.test(age) ? Number(age) * 1000 : 0
  return Math.max(0, receivedMs - createdMs, ageHeaderMs + Math.max(0, receivedMs - requestedMs))
}
