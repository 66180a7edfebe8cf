import type { FetchCall } from '../fetch.js'
import { type Directives, directivesOf } from './cache-control.js'
import type { CacheEntry } from './cache-entries.js'
import { initialAgeMs, lifetimeMs, type Times } from './freshness.js'

/** A cache entry without its body. */
export type EntryHead = Omit<CacheEntry, 'body'>

export interface CacheableOptions {
  /** Request headers that every response depends on. */
  keyHeaders: readonly string[]
  /** Whether a stale response is kept for revalidation. */
  revalidate: boolean
}

/**
 * The cacheable statuses of RFC 9110, without 206, which is a part, and 301 and 308, which `fetch` follows or returns
 * depending on the call. 429 must never be cached (RFC 6585).
 */
const STATUSES = [200, 203, 204, 404, 410]

/** The cache entry for a response; undefined if it must not or need not be cached. */
export function headOf(
  call: FetchCall,
  response: Pick<Response, 'status' | 'statusText' | 'headers' | 'redirected'>,
  times: Times,
  { keyHeaders, revalidate }: CacheableOptions,
): EntryHead | undefined {
  const { status, statusText, headers } = response
  // After a redirect the response belongs to another URL, and the headers of this one are unknown.
  if (!STATUSES.includes(status) || response.redirected) return undefined
  const directives = directivesOf(headers)
  if (directives.has('no-store') || headers.has('set-cookie')) return undefined
  if (CREDENTIALS.some((name) => call.headers.has(name)) && !mayBeShared(directives)) return undefined
  // Stricter than the RFC: a response that is not public is only for requests with the same credentials.
  const credentials = directives.has('public') ? [] : CREDENTIALS
  const varyNames = (headers.get('vary') ?? '').split(',').map((name) => name.trim().toLowerCase())
  const vary = [...new Set([...keyHeaders, ...credentials, ...varyNames])]
    .filter((name) => name !== '')
    .sort()
  // `*` and invalid header names cannot be matched.
  if (!vary.every((name) => name !== '*' && isHeaderName(name))) return undefined

  const head = {
    url: call.url,
    vary: vary.map((name) => [name, call.headers.get(name)] as const),
    status,
    statusText,
    headers: new Headers(headers),
    receivedMs: times.receivedMs,
    initialAgeMs: initialAgeMs(headers, times),
    lifetimeMs: directives.has('no-cache') ? 0 : lifetimeMs(headers, directives, times),
  }
  const isUseful = head.lifetimeMs > head.initialAgeMs || (revalidate && conditionOf(head) !== undefined)
  return isUseful ? head : undefined
}

/** The request header that revalidates an entry. */
export function conditionOf({ headers }: EntryHead): readonly [name: string, value: string] | undefined {
  const etag = headers.get('etag')
  if (etag !== null) return ['if-none-match', etag]
  const modified = headers.get('last-modified')
  return modified === null ? undefined : ['if-modified-since', modified]
}

/** The current age of a response; infinite if the clock has gone back. */
export function ageMs({ receivedMs, initialAgeMs }: EntryHead, nowMs: number): number {
  return nowMs < receivedMs ? Number.POSITIVE_INFINITY : initialAgeMs + nowMs - receivedMs
}

/**
 * One process sends requests for many users, so this cache follows the rule of shared caches: a response to a request with
 * credentials is cached only if the server allows it (RFC 9111, 3.5).
 */
function mayBeShared(directives: Directives): boolean {
  if (directives.has('private')) return false
  return ['public', 's-maxage', 'must-revalidate'].some((name) => directives.has(name))
}

const CREDENTIALS = ['authorization', 'cookie']

export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}
