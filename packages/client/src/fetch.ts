import { show, TidegateError } from '@tidegate/core'

/** What is wrapped, and what comes out: the runtime's `fetch`, or anything that is called like it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Refuses what cannot be called, such as options where the `fetch` was forgotten; `like` is what to write instead. */
export function assertFetch(fetch: unknown, like: string): asserts fetch is Fetch {
  if (typeof fetch === 'function') return
  const message = `fetch must be a function like the global one, got ${show(fetch)}. Write for example ${like}.`
  throw new TidegateError('OPTION_INVALID', message, { field: 'fetch' })
}

/** What a call of `fetch` asks for. */
export interface Call {
  /** Absolute, without a fragment. */
  readonly url: string
  /** In upper case, as far as HTTP wants it so. */
  readonly method: string
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** Whether the body is there to be sent a second time; a stream is gone after the first. */
  readonly hasLastingBody: boolean
}

/**
 * Reads the arguments of `fetch` without using them up. It throws what `fetch` would reject with for a wrong
 * address, method or header: those look like a broken network otherwise, and would be tried again.
 */
export function callOf(input: string | URL | Request, init: RequestInit = {}): Call {
  const given = isRequest(input) ? input : undefined
  const { url, method, headers } = new Request(given?.url ?? String(input), {
    method: init.method ?? given?.method ?? 'GET',
    headers: init.headers ?? given?.headers ?? {},
  })
  // A null signal takes away the one of the request.
  const signal = init.signal === undefined ? given?.signal : init.signal
  return {
    url: url.replace(/#.*$/s, ''),
    method,
    headers,
    signal: signal ?? undefined,
    hasLastingBody: init.body == null ? !mayHaveBody(given, method) : isLasting(init.body),
  }
}

/** Not every browser tells of a Request whether it has a body. */
function mayHaveBody(given: Request | undefined, method: string): boolean {
  return given !== undefined && given.body !== null && method !== 'GET' && method !== 'HEAD'
}

/** By its looks: a Request may come from another realm, or from a package of its own. */
function isRequest(input: string | URL | Request): input is Request {
  return typeof input === 'object' && 'headers' in input && 'url' in input
}

function isLasting(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true
  // Streams, and what Node also takes: iterators. FormData and URLSearchParams can be iterated again.
  return !('getReader' in body) && !(Symbol.asyncIterator in body) && !('next' in body)
}
