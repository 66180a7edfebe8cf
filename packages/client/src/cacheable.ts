import { type Directives, directivesOf } from './cache-control.js'
import type { Entry } from './cache-entries.js'
import type { Call } from './fetch.js'
import { initialAgeMs, lifetimeMs, type Times } from './freshness.js'

/** What an entry is made of, but for the body. */
export type Head = Omit<Entry, 'body'>

export interface CacheableOptions {
  /** Headers of a request that every answer depends on. */
  keyHeaders: readonly string[]
  /** Whether an answer that is stale may be kept, to ask whether it still holds. */
  revalidate: boolean
}

/**
 * Of those that RFC 9110 lets a cache keep: not 206, which is a part, nor 301 and 308, which `fetch` follows for
 * some calls and hands out to others. 429 never (RFC 6585).
 */
const STATUSES = [200, 203, 204, 404, 410]

/** What is kept of an answer; undefined if it must not, or need not, be kept. */
export function headOf(
  call: Call,
  response: Pick<Response, 'status' | 'statusText' | 'headers' | 'redirected'>,
  times: Times,
  { keyHeaders, revalidate }: CacheableOptions,
): Head | undefined {
  const { status, statusText, headers } = response
  // After a redirect the answer is of another URL, and we have not seen what was said of this one.
  if (!STATUSES.includes(status) || response.redirected) return undefined
  const directives = directivesOf(headers)
  if (directives.has('no-store') || headers.has('set-cookie')) return undefined
  if (CREDENTIALS.some((name) => call.headers.has(name)) && !mayBeShared(directives)) return undefined
  // Not asked for by the RFC: what is not public is for whoever has the same credentials, or as few.
  const own = directives.has('public') ? [] : CREDENTIALS
  const listed = (headers.get('vary') ?? '').split(',').map((name) => name.trim().toLowerCase())
  const vary = [...new Set([...keyHeaders, ...own, ...listed])].filter((name) => name !== '').sort()
  // `*` is everything, and more than can be seen; nor can what is no header's name.
  if (!vary.every((name) => name !== '*' && isHeaderName(name))) return undefined

  const head = {
    url: call.url,
    vary: vary.map((name) => [name, call.headers.get(name)] as const),
    status,
    statusText,
    headers: new Headers(headers),
    cameMs: times.cameMs,
    initialAgeMs: initialAgeMs(headers, times),
    lifetimeMs: directives.has('no-cache') ? 0 : lifetimeMs(headers, directives, times),
  }
  const isUseful = head.lifetimeMs > head.initialAgeMs || (revalidate && conditionOf(head) !== undefined)
  return isUseful ? head : undefined
}

/** What to ask with whether an entry still holds. */
export function conditionOf({ headers }: Head): readonly [name: string, value: string] | undefined {
  const etag = headers.get('etag')
  if (etag !== null) return ['if-none-match', etag]
  const modified = headers.get('last-modified')
  return modified === null ? undefined : ['if-modified-since', modified]
}

/** How old an answer is by now. A clock that went back makes it older than anything. */
export function ageMs({ cameMs, initialAgeMs }: Head, nowMs: number): number {
  return nowMs < cameMs ? Number.POSITIVE_INFINITY : initialAgeMs + nowMs - cameMs
}

/**
 * One process asks for many people, so this cache is as careful as one that they share: what was asked for
 * with somebody's credentials is kept only if its server says that it may be (RFC 9111, 3.5).
 */
function mayBeShared(directives: Directives): boolean {
  if (directives.has('private')) return false
  return ['public', 's-maxage', 'must-revalidate'].some((name) => directives.has(name))
}

const CREDENTIALS = ['authorization', 'cookie']

export function isHeaderName(text: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(text)
}
