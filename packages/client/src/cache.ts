import { assertOptions, show, TidegateError } from '@tidegate/core'
import { directivesOf, secondsOf } from './cache-control.js'
import { createEntries, type Entry } from './cache-entries.js'
import { ageMs, conditionOf, type Head, headOf, isHeaderName } from './cacheable.js'
import { assertFetch, type Call, callOf, type Fetch } from './fetch.js'
import { initialAgeMs, type Times } from './freshness.js'
import { numberOption } from './option-number.js'
import { at, recorded } from './recorded-response.js'

export interface CacheOptions {
  /** The most answers that are kept. Default: 1000. */
  maxEntries?: number
  /** The most memory that they take; an answer above a tenth of it is not kept. Default: 10,485,760. */
  maxBytes?: number
  /** Whether to keep stale answers and ask if they still hold: a call, but a small answer. Default: false. */
  revalidate?: boolean
  /** Headers of your requests that answers depend on though their servers do not say so. Default: none. */
  keyHeaders?: readonly string[]
  /** Milliseconds since the epoch. Default: `Date.now`. */
  now?: () => number
}

export interface CachedFetch extends Fetch {
  /** Forgets every answer, such as when another user signs in. */
  clear(): void
}

/**
 * A `fetch` that answers from memory as long as the server said an answer is good (RFC 9111): what is asked
 * for again costs no call, and nothing of a limit. An answer is kept when its body has been read to the end.
 */
export function withCache(fetch: Fetch = globalThis.fetch, options: CacheOptions = {}): CachedFetch {
  assertFetch(fetch, 'withCache(fetch, { maxEntries: 100 })')
  const { now, maxBytes, ...settings } = parse(options)
  const entries = createEntries({ maxEntries: settings.maxEntries, maxBytes })
  const maxBodyBytes = maxBytes / 10

  async function cached(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const call = callOf(input, init)
    const mode = init?.cache ?? (input as Request).cache
    const integrity = init?.integrity ?? (input as Request).integrity
    if (call.method !== 'GET') {
      const response = await fetch(input, init)
      if (!SAFE.includes(call.method) && response.status < 400) entries.drop(call.url)
      return response
    }
    // With integrity, fetch looks at the bytes itself.
    if (mode === 'no-store' || integrity || isOnItsOwn(call.headers)) return fetch(input, init)

    const entry = mode === 'reload' ? undefined : entries.find(call.url, call.headers)
    if (entry !== undefined && mode !== 'no-cache' && isFresh(entry, call.headers, now())) {
      call.signal?.throwIfAborted()
      return answerOf(entry, now())
    }
    const condition = entry !== undefined && settings.revalidate ? conditionOf(entry) : undefined
    const { drops } = entries
    const askedMs = now()
    const response = await fetch(
      input,
      condition === undefined ? init : { ...init, headers: withHeader(call, condition) },
    )
    const times = { askedMs, cameMs: now() }
    const keep = (head: Head, body: Entry['body']): void => {
      // Something was written in the meantime; this answer may be from before.
      if (entries.drops === drops) entries.put({ ...head, body })
    }

    if (condition !== undefined && entry !== undefined && response.status === 304) {
      const renewed = renew(entry, response.headers, times)
      const head = headOf(call, { ...renewed, redirected: false }, times, settings)
      if (head === undefined) entries.drop(entry.url)
      else keep(head, entry.body)
      return answerOf(renewed, now())
    }
    const head = headOf(call, response, times, settings)
    if (head === undefined || Number(response.headers.get('content-length')) > maxBodyBytes) return response
    return recorded(response, maxBodyBytes, (body) => keep(head, body))
  }

  return Object.assign(cached, { clear: () => entries.clear() })
}

/** They change nothing, so what we have of their URL still holds. */
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE']
/** Of a request for a part, or of one whose sender has a cache of its own. */
const CONDITIONS = [
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
]
/** Of a body, which a 304 has none of. */
const OF_THE_BODY = [
  'content-length',
  'content-encoding',
  'content-range',
  'content-type',
  'transfer-encoding',
]

function isOnItsOwn(headers: Headers): boolean {
  return CONDITIONS.some((name) => headers.has(name)) || directivesOf(headers).has('no-store')
}

/** Whether an entry may be the answer without asking, by what the server said and by what the request wants. */
function isFresh(entry: Entry, wanted: Headers, nowMs: number): boolean {
  const directives = directivesOf(wanted)
  if (directives.has('no-cache')) return false
  const age = ageMs(entry, nowMs)
  const most = secondsOf(directives, 'max-age') ?? Number.POSITIVE_INFINITY
  const least = secondsOf(directives, 'min-fresh') ?? 0
  return age < entry.lifetimeMs - least && age <= most
}

function answerOf(entry: Entry, nowMs: number): Response {
  const { status, statusText, body } = entry
  const headers = new Headers(entry.headers)
  const age = ageMs(entry, nowMs)
  if (Number.isFinite(age)) headers.set('age', String(Math.floor(age / 1000)))
  return at(entry.url, new Response(body, { status, statusText, headers }))
}

/** What a 304 makes of an entry. */
function renew(entry: Entry, fresh: Headers, times: Times): Entry {
  const headers = new Headers(entry.headers)
  headers.delete('age')
  for (const [name, value] of fresh) if (!OF_THE_BODY.includes(name)) headers.set(name, value)
  return { ...entry, headers, cameMs: times.cameMs, initialAgeMs: initialAgeMs(headers, times) }
}

function withHeader({ headers }: Call, [name, value]: readonly [string, string]): Headers {
  const more = new Headers(headers)
  more.set(name, value)
  return more
}

function parse(options: CacheOptions): Required<CacheOptions> {
  assertOptions('withCache()', options, ['maxEntries', 'maxBytes', 'revalidate', 'keyHeaders', 'now'])
  const { revalidate = false, keyHeaders = [], now = Date.now } = options
  const whole = { from: 1, isWhole: true }
  for (const [field, value, isRight, what] of [
    ['revalidate', revalidate, typeof revalidate === 'boolean', 'true or false'],
    ['keyHeaders', keyHeaders, isNames(keyHeaders), "a list of header names, such as ['x-api-key']"],
    ['now', now, typeof now === 'function', 'a function'],
  ] as const) {
    if (isRight) continue
    throw new TidegateError('OPTION_INVALID', `${field} must be ${what}, got ${show(value)}.`, { field })
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
