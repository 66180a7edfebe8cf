import { optionInvalid, show } from '@tidegate/core'

/** The type of `fetch`, and of functions that wrap it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Throws `OPTION_INVALID` for values that are not functions, such as options in place of `fetch`. */
export function assertFetch(fetch: unknown, example: string): asserts fetch is Fetch {
  if (typeof fetch === 'function') return
  const message = `fetch must be a function with the signature of the global fetch, got ${show(fetch)}. Write for example ${example}.`
  throw optionInvalid('fetch', message)
}

/** The request of one call of `fetch`. */
export interface FetchCall {
  /** Absolute, without a fragment. */
  readonly url: string
  /** The method as normalized by `Request`: `get` becomes `GET`. */
  readonly method: string
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** Whether the body can be sent again. A stream cannot. */
  readonly hasRepeatableBody: boolean
}

/**
 * Reads the arguments of `fetch` without consuming them. Throws the error of `fetch` for an invalid URL, method or header:
 * such an error would otherwise look like a network failure and be retried.
 */
export function callOf(input: string | URL | Request, init: RequestInit = {}): FetchCall {
  const request = isRequest(input) ? input : undefined
  const { url, method, headers } = new Request(request?.url ?? String(input), {
    method: init.method ?? request?.method ?? 'GET',
    headers: init.headers ?? request?.headers ?? {},
  })
  // A null signal removes the signal of the request.
  const signal = init.signal === undefined ? request?.signal : init.signal
  return {
    url: url.replace(/#.*$/s, ''),
    method,
    headers,
    signal: signal ?? undefined,
    hasRepeatableBody: init.body == null ? !mayHaveBody(request, method) : isRepeatableBody(init.body),
  }
}

/** Some browsers do not expose whether a Request has a body. */
function mayHaveBody(request: Request | undefined, method: string): boolean {
  return request !== undefined && request.body !== null && method !== 'GET' && method !== 'HEAD'
}

/** Checks properties, because a Request may come from another realm or package. */
function isRequest(input: string | URL | Request): input is Request {
  return typeof input === 'object' && 'headers' in input && 'url' in input
}

function isRepeatableBody(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true
  // Streams and iterators can be read once; FormData and URLSearchParams repeatedly.
  return !('getReader' in body) && !(Symbol.asyncIterator in body) && !('next' in body)
}
