import { assertOptions, numberOption, optionInvalid, show } from '@tidegate/core'
import { assertFetch, callOf, type Fetch, type FetchCall } from '../fetch.js'
import { directiveMs, directivesOf } from './cache-control.js'
import { type CacheEntry, createEntries } from './cache-entries.js'
import { ageMs, conditionOf, type EntryHead, headOf, isHeaderName } from './cacheable.js'
import { initialAgeMs, type Times } from './freshness.js'
import { recordBody, withUrl } from './record-body.js'

/** Options of `withCache`. */
export interface CacheOptions {
  /** The maximum number of cached responses. Default: 1000. */
  maxEntries?: number
  /** The maximum memory of the cache in bytes. A response above a tenth of it is not cached. Default: 10,485,760. */
  maxBytes?: number
  /** Whether to keep stale responses and revalidate them by a conditional request. Default: false. */
  revalidate?: boolean
  /** Request headers that responses depend on, in addition to their `Vary` header. Default: none. */
  keyHeaders?: readonly string[]
  /** Returns milliseconds since the Unix epoch. Default: `Date.now`. */
  now?: () => number
}

/** A `fetch` with a cache: see `withCache`. */
export interface CachedFetch extends Fetch {
  /** Removes all cached responses, for example when another user signs in. */
  clear(): void
}

/**
 * Wraps `fetch` with an in-memory cache (RFC 9111): a fresh response needs no call and no quota. A response is cached once
 * its body has been read to the end.
 *
 * @example
 * ```ts
 * const cachedFetch = withCache(fetch, { maxEntries: 100 })
 * const response = await cachedFetch('https://api.example.com/items')
 * ```
 */
export function withCache(fetch: Fetch = globalThis.fetch, options: CacheOptions = {}): CachedFetch {
  assertFetch(fetch, 'withCache(fetch, { maxEntries: 100 })')
  const { now, maxBytes, ...settings } = parse(options)
  const entries = createEntries({ maxEntries: settings.maxEntries, maxBytes })
  const maxBodyBytes = maxBytes / 10

  async function cachedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const call = callOf(input, init)
    const mode = init?.cache ?? (input as Request).cache
    const integrity = init?.integrity ?? (input as Request).integrity
    if (call.method !== 'GET') {
      const response = await fetch(input, init)
      if (!SAFE.includes(call.method) && response.status < 400) entries.drop(call.url)
      return response
    }
    // With `integrity`, `fetch` must verify the bytes.
    if (mode === 'no-store' || integrity || bypassesCache(call.headers)) return fetch(input, init)

    const entry = mode === 'reload' ? undefined : entries.find(call.url, call.headers)
    if (entry !== undefined && mode !== 'no-cache' && isFresh(entry, call.headers, now())) {
      call.signal?.throwIfAborted()
      return responseOf(entry, now())
    }
    const condition = entry !== undefined && settings.revalidate ? conditionOf(entry) : undefined
    const { drops } = entries
    const requestedMs = now()
    const response = await fetch(
      input,
      condition === undefined ? init : { ...init, headers: withHeader(call, condition) },
    )
    const times = { requestedMs, receivedMs: now() }
    const keep = (head: EntryHead, body: CacheEntry['body']): void => {
      // An entry was dropped in the meantime, so this response may be outdated.
      if (entries.drops === drops) entries.put({ ...head, body })
    }

    if (condition !== undefined && entry !== undefined && response.status === 304) {
      const renewed = renew(entry, response.headers, times)
      const head = headOf(call, { ...renewed, redirected: false }, times, settings)
      if (head === undefined) entries.drop(entry.url)
      else keep(head, entry.body)
      return responseOf(renewed, now())
    }
    const head = headOf(call, response, times, settings)
    if (head === undefined || Number(response.headers.get('content-length')) > maxBodyBytes) return response
    return recordBody(response, maxBodyBytes, (body) => keep(head, body))
  }

  return Object.assign(cachedFetch, { clear: () => entries.clear() })
}

/** Methods that change nothing, so cached responses stay valid. */
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE']
/** Headers of requests for a range, or of callers with their own cache. */
const CONDITIONAL_HEADERS = [
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
]
/** Headers that describe a body. A 304 has none, so they must not replace those of the entry. */
const BODY_HEADERS = [
  'content-length',
  'content-encoding',
  'content-range',
  'content-type',
  'transfer-encoding',
]

function bypassesCache(headers: Headers): boolean {
  return CONDITIONAL_HEADERS.some((name) => headers.has(name)) || directivesOf(headers).has('no-store')
}

/** Whether an entry may be used without revalidation, by its lifetime and by the request's Cache-Control. */
function isFresh(entry: CacheEntry, requestHeaders: Headers, nowMs: number): boolean {
  const directives = directivesOf(requestHeaders)
  if (directives.has('no-cache')) return false
  const age = ageMs(entry, nowMs)
  const most = directiveMs(directives, 'max-age') ?? Number.POSITIVE_INFINITY
  const least = directiveMs(directives, 'min-fresh') ?? 0
  return age < entry.lifetimeMs - least && age <= most
}

function responseOf(entry: CacheEntry, nowMs: number): Response {
  const { status, statusText, body } = entry
  const headers = new Headers(entry.headers)
  const age = ageMs(entry, nowMs)
  if (Number.isFinite(age)) headers.set('age', String(Math.floor(age / 1000)))
  return withUrl(entry.url, new Response(body, { status, statusText, headers }))
}

/** The entry with the headers of a 304 response. */
function renew(entry: CacheEntry, newHeaders: Headers, times: Times): CacheEntry {
  const headers = new Headers(entry.headers)
  headers.delete('age')
  for (const [name, value] of newHeaders) if (!BODY_HEADERS.includes(name)) headers.set(name, value)
  return { ...entry, headers, receivedMs: times.receivedMs, initialAgeMs: initialAgeMs(headers, times) }
}

function withHeader({ headers }: FetchCall, [name, value]: readonly [string, string]): Headers {
  const copy = new Headers(headers)
  copy.set(name, value)
  return copy
}

function parse(options: CacheOptions): Required<CacheOptions> {
  assertOptions('withCache()', options, ['maxEntries', 'maxBytes', 'revalidate', 'keyHeaders', 'now'])
  const { revalidate = false, keyHeaders = [], now = Date.now } = options
  const whole = { from: 1, isWhole: true }
  for (const [field, value, isValid, rule] of [
    ['revalidate', revalidate, typeof revalidate === 'boolean', 'true or false'],
    ['keyHeaders', keyHeaders, isNames(keyHeaders), "a list of header names such as ['x-api-key']"],
    ['now', now, typeof now === 'function', 'a function'],
  ] as const) {
    if (isValid) continue
    throw optionInvalid(field, `${field} must be ${rule}, got ${show(value)}. Leave it out for the default.`)
  }
  return {
    maxEntries: numberOption('maxEntries', options.maxEntries, { ...whole, to: 1_000_000, otherwise: 1000 }),
    maxBytes: numberOption('maxBytes', options.maxBytes, { ...whole, to: 2 ** 40, otherwise: 10 * 2 ** 20 }),
    revalidate,
    keyHeaders: keyHeaders.map((name) => name.toLowerCase()),
    now,
  }
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && isHeaderName(one))
}
