import type { ServerResponse } from 'node:http'
import type { CorsHeaders } from '../cors/cors.js'
import { headersNamedByConnection, isHopByHop } from '../request/hop-by-hop.js'
import type { GatewayRequest, ResponseFilter, ResponseHead } from '../route.js'
import { headersOfHttp2, isHttp2 } from './http2.js'

/** Response headers from undici: alternating names and values. */
export type RawHeaders = readonly Buffer[]

export interface HeadToSend {
  readonly status: number
  /** Alternating names and values. */
  readonly flat: string[]
  /** Length of the body; -1 if unknown. */
  readonly length: number
}

/**
 * Builds the head to forward from that of an upstream. Rate limit headers of the gateway replace those of the upstream,
 * whose numbers would contradict them.
 */
export function headToSend(
  status: number,
  raw: RawHeaders,
  rateLimitHeaders: Readonly<Record<string, string>>,
): HeadToSend {
  const flat: string[] = []
  const connectionHeaders = connectionHeadersIn(raw)
  const isLimited = Object.keys(rateLimitHeaders).length > 0
  let length = -1
  let trailer = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1')
    const lower = name.toLowerCase()
    if (lower === 'trailer') trailer = raw[i + 1]!.toString('latin1')
    if (isHopByHop(lower) || connectionHeaders?.has(lower)) continue
    if (isLimited && (isAboutLimits(lower) || Object.hasOwn(rateLimitHeaders, lower))) continue
    const value = raw[i + 1]!.toString('latin1')
    if (lower === 'content-length') {
      // A 204 must not have a Content-Length.
      if (status === 204) continue
      length = Number(value)
    }
    flat.push(name, value)
  }
  for (const name in rateLimitHeaders) flat.push(name, rateLimitHeaders[name]!)
  // Announce only trailers that may be forwarded.
  if (trailer !== '' && length < 0) {
    const names = trailer.split(',').filter((name) => mayTrail(name.trim().toLowerCase()))
    if (names.length > 0) flat.push('trailer', names.join(','))
  }
  return { status, flat, length }
}

/** Whether a header is about rate limits. Not `retry-after`, which upstreams also send with 503. */
function isAboutLimits(name: string): boolean {
  return name === 'ratelimit' || name.startsWith('ratelimit-') || name.startsWith('x-ratelimit-')
}

/** The headers that `Connection` names, which are hop-by-hop too. */
function connectionHeadersIn(raw: RawHeaders): ReadonlySet<string> | undefined {
  let connection: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    if (name.length !== 10 || name.toString('latin1').toLowerCase() !== 'connection') continue
    const value = raw[i + 1]!.toString('latin1')
    connection = connection === undefined ? value : `${connection},${value}`
  }
  return headersNamedByConnection(connection)
}

/** Applies the response filters of a route. */
export function applyFilters(
  { status, flat, length }: HeadToSend,
  filters: readonly ResponseFilter[],
  request: GatewayRequest,
): HeadToSend {
  const head: ResponseHead = { status, headers: new Map() }
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase()
    const value = flat[i + 1]!
    const before = head.headers.get(name)
    head.headers.set(name, before === undefined ? value : [before, value].flat())
  }
  for (const filter of filters) filter(head, request)
  const losesLength = isWithoutBody(status) !== isWithoutBody(head.status) || head.status === 204
  const result: string[] = []
  for (const [name, value] of head.headers) {
    if (isHopByHop(name) && name !== 'trailer') continue
    // Filters cannot change the length of the body, but a new status may remove the body.
    if (name === 'content-length' && (length < 0 || losesLength)) continue
    for (const line of typeof value === 'string' ? [value] : value) result.push(name, line)
  }
  return { status: head.status, flat: result, length }
}

/** Replaces the CORS headers of the upstream by those of the gateway: browsers reject a response with both. */
export function withCorsHeaders({ status, flat, length }: HeadToSend, cors: CorsHeaders): HeadToSend {
  const result: string[] = []
  const isCrossOrigin = 'access-control-allow-origin' in cors
  for (let i = 0; i < flat.length; i += 2) {
    if (!isCrossOrigin || !flat[i]!.toLowerCase().startsWith('access-control-'))
      result.push(flat[i]!, flat[i + 1]!)
  }
  for (const name in cors) result.push(name, cors[name]!)
  return { status, flat: result, length }
}

/** Writes the head of a response. */
export function writeHead(response: ServerResponse, { status, flat }: HeadToSend): void {
  if (isHttp2(response.req)) response.writeHead(status, headersOfHttp2(flat))
  else response.writeHead(status, mayHaveTrailers(response, status) ? flat : withoutTrailer(flat))
}

/** Node rejects a Trailer header if the response is not chunked. */
function mayHaveTrailers({ req }: ServerResponse, status: number): boolean {
  return req.httpVersionMinor > 0 && req.method !== 'HEAD' && !isWithoutBody(status)
}

/** Whether a response with this status has no body. */
export function isWithoutBody(status: number): boolean {
  return status === 204 || status === 304
}

function withoutTrailer(flat: string[]): string[] {
  // Even positions are names.
  const at = flat.findIndex((text, i) => i % 2 === 0 && text === 'trailer')
  if (at >= 0) flat.splice(at, 2)
  return flat
}

/** Sends the trailers of an upstream's response. */
export function addTrailers(response: ServerResponse, raw: RawHeaders): void {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1')
    if (mayTrail(name.toLowerCase())) trailers.push([name, raw[i + 1]!.toString('latin1')])
  }
  response.addTrailers(isHttp2(response.req) ? headersOfHttp2(trailers.flat()) : trailers)
}

/** Whether a header may be a trailer. Headers for framing, routing or decoding are needed before the body. */
function mayTrail(name: string): boolean {
  return name !== '' && !isHopByHop(name) && !NEVER_TRAILERS.has(name)
}

const NEVER_TRAILERS: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'expires',
  'host',
  'location',
  'retry-after',
  'set-cookie',
  'vary',
  'www-authenticate',
])
