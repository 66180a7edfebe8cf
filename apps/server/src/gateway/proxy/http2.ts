import { type IncomingMessage, METHODS, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { BAD_HOST, isHost } from '../../http/strict.js'

/** Whether a request arrived by HTTP/2. The version is not used, because an HTTP/1.1 client can send any. */
export function isHttp2(message: IncomingMessage): boolean {
  return (message as { stream?: unknown }).stream !== undefined
}

/** Whether an HTTP/2 request has no body. */
export function endedByHeaders(message: IncomingMessage): boolean {
  const { stream } = message as { stream?: { endAfterHeaders: boolean } }
  return stream?.endAfterHeaders === true
}

/** The size of an HTTP/2 request's headers and pseudo-headers, counted as Node does for HTTP/1.1. */
export function headerBytesOf({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length, 0)
}

const NODE_METHODS: ReadonlySet<string> = new Set(METHODS)

/** Finds problems that Node accepts in HTTP/2 requests. Sets `host` from `:authority`. */
export function problemOfHttp2({ headers, method = '', url = '' }: IncomingMessage): string | undefined {
  // As in HTTP/1.1: some upstreams treat post as POST, but a rule for POST does not match it.
  if (!NODE_METHODS.has(method)) return 'The method must be a standard method in upper case, such as GET.'
  const authority = headers[':authority']
  if (headers.host !== undefined && authority !== undefined && headers.host !== authority) {
    return 'Host and :authority must be equal; send only :authority.'
  }
  if (typeof authority === 'string') headers.host ??= authority
  if (headers.host === undefined) return ':authority is missing; send the host name.'
  if (!isHost(headers.host)) return BAD_HOST
  if (url.includes('#')) return 'The path must not contain #; send %23 instead.'
  return /[^\u0021-\u00ff]/.test(url) ? 'The path must be ASCII; percent-encode other characters.' : undefined
}

/**
 * Converts alternating names and values to headers for Node's HTTP/2, which would otherwise keep only the last line of
 * a name. Names that Node accepts only once are sent once; lists are joined to one line.
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

/** Includes request headers, because some upstreams send them in responses. */
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

/** Aborts a response so that the client notices that it is incomplete. */
export function abortResponse(response: ServerResponse): void {
  // Destroying an HTTP/2 response would end it normally.
  if (isHttp2(response.req)) streamOf(response).close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

export function streamOf(response: ServerResponse): ServerHttp2Stream {
  return (response as unknown as { stream: ServerHttp2Stream }).stream
}
