import { type IncomingMessage, METHODS, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { BAD_HOST, isHost } from '../http/strict.js'

/** Whether a request came by HTTP/2. What it says of its version proves nothing: in HTTP/1.1 a client can write any. */
export function isHttp2(message: IncomingMessage): boolean {
  return (message as { stream?: unknown }).stream !== undefined
}

/** Whether its headers were all there is of a request of HTTP/2. */
export function endedByHeaders(message: IncomingMessage): boolean {
  const { stream } = message as { stream?: { endAfterHeaders: boolean } }
  return stream?.endAfterHeaders === true
}

/** How large the headers of a request are, with what HTTP/1.1 has in its first line; as Node counts them there. */
export function headerBytesOf({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length, 0)
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)

/** What Node lets through of HTTP/2, and we do not. After it `host` is what it is elsewhere. */
export function problemOfHttp2({ headers, method = '', url = '' }: IncomingMessage): string | undefined {
  // Those that Node's parser of HTTP/1.1 takes. A rule for POST is not one for post, which some upstreams take for the same.
  if (!KNOWN_METHODS.has(method)) return 'The method must be one that is known, in upper case.'
  const authority = headers[':authority']
  if (headers.host !== undefined && authority !== undefined && headers.host !== authority) {
    return 'Host must be what :authority is, if anything.'
  }
  if (typeof authority === 'string') headers.host ??= authority
  if (headers.host === undefined) return 'There must be an :authority.'
  if (!isHost(headers.host)) return BAD_HOST
  if (url.includes('#')) return 'The path must not have a #; write %23 for one.'
  return /[^\u0021-\u00ff]/.test(url) ? 'The path must be of ASCII characters; escape the others.' : undefined
}

/**
 * Headers, of names and values in turn, as Node's HTTP/2 takes them: otherwise it would keep the last of several lines
 * only. Of some names it refuses two; they are sent once, and what is a list as one line.
 */
export function headersOfHttp2(flat: readonly string[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase()
    const value = flat[i + 1]!
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (LISTS.has(name)) headers[name] = `${before}, ${value}`
    else if (!ONCE.has(name)) headers[name] = [before, value].flat()
  }
  return headers
}

const LISTS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-language',
  'if-match',
  'if-none-match',
])

/** Those of requests too: upstreams send anything. */
const ONCE: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-max-age',
  'access-control-request-method',
  'age',
  'authorization',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'range',
  'referer',
  'retry-after',
  'tk',
  'upgrade-insecure-requests',
  'user-agent',
  'x-content-type-options',
])

/** Ends an answer so that nobody takes it for the whole. */
export function breakOff(response: ServerResponse): void {
  // Destroyed, it would end as if that were all.
  if (isHttp2(response.req)) streamOf(response).close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

export function streamOf(response: ServerResponse): ServerHttp2Stream {
  return (response as unknown as { stream: ServerHttp2Stream }).stream
}
