import type { ServerResponse } from 'node:http'
import { isHopByHop, namedByConnection } from './hop-by-hop.js'
import { headersOfHttp2, isHttp2 } from './http2.js'
import type { GatewayRequest, ResponseFilter, ResponseHead } from './route.js'

/** The headers of an answer, as undici has read them: names and values in turn. */
export type RawHeaders = readonly Buffer[]

export interface HeadToSend {
  readonly status: number
  /** Names and values in turn. */
  readonly flat: string[]
  /** How long the body is, if that was said; -1 if not. */
  readonly length: number
}

/**
 * What is sent on of an upstream's answer. What the limits say stands instead of all that the upstream says of its own: its
 * numbers beside ours would contradict them.
 */
export function headToSend(
  status: number,
  raw: RawHeaders,
  limits: Readonly<Record<string, string>>,
): HeadToSend {
  const flat: string[] = []
  const named = namedIn(raw)
  const isLimited = Object.keys(limits).length > 0
  let length = -1
  let trailer = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1')
    const lower = name.toLowerCase()
    if (lower === 'trailer') trailer = raw[i + 1]!.toString('latin1')
    if (isHopByHop(lower) || named?.has(lower)) continue
    if (isLimited && (isAboutLimits(lower) || Object.hasOwn(limits, lower))) continue
    const value = raw[i + 1]!.toString('latin1')
    if (lower === 'content-length') {
      // There is no body, and it may not be said to have a length.
      if (status === 204) continue
      length = Number(value)
    }
    flat.push(name, value)
  }
  for (const name in limits) flat.push(name, limits[name]!)
  // Ours: of what the upstream announces, what may follow a body.
  if (trailer !== '' && length < 0) {
    const names = trailer.split(',').filter((name) => mayTrail(name.trim().toLowerCase()))
    if (names.length > 0) flat.push('trailer', names.join(','))
  }
  return { status, flat, length }
}

/** Not `retry-after`: that an upstream also says with a 503, and of something else. */
function isAboutLimits(name: string): boolean {
  return name === 'ratelimit' || name.startsWith('ratelimit-') || name.startsWith('x-ratelimit-')
}

function namedIn(raw: RawHeaders): ReadonlySet<string> | undefined {
  let connection: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    if (name.length !== 10 || name.toString('latin1').toLowerCase() !== 'connection') continue
    const value = raw[i + 1]!.toString('latin1')
    connection = connection === undefined ? value : `${connection},${value}`
  }
  return namedByConnection(connection)
}

/** Runs the filters of a route over a head. */
export function filtered(
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
  const changed: string[] = []
  for (const [name, value] of head.headers) {
    if (isHopByHop(name) && name !== 'trailer') continue
    // How long the body is, no filter can change; whether there is one, a status does.
    if (name === 'content-length' && (length < 0 || losesLength)) continue
    for (const line of typeof value === 'string' ? [value] : value) changed.push(name, line)
  }
  return { status: head.status, flat: changed, length }
}

/** Sends a head in the way that is fastest for the protocol. */
export function writeHead(response: ServerResponse, { status, flat }: HeadToSend): void {
  if (isHttp2(response.req)) response.writeHead(status, headersOfHttp2(flat))
  else response.writeHead(status, mayHaveTrailers(response, status) ? flat : withoutTrailer(flat))
}

/** Node refuses to announce trailers where it does not send chunks. */
function mayHaveTrailers({ req }: ServerResponse, status: number): boolean {
  return req.httpVersionMinor > 0 && req.method !== 'HEAD' && !isWithoutBody(status)
}

/** Of an answer. */
export function isWithoutBody(status: number): boolean {
  return status === 204 || status === 304
}

function withoutTrailer(flat: string[]): string[] {
  // Names alone: it may also be the value of another.
  const at = flat.findIndex((text, i) => i % 2 === 0 && text === 'trailer')
  if (at >= 0) flat.splice(at, 2)
  return flat
}

/** Sends trailers, of what undici has read behind a body. */
export function addTrailers(response: ServerResponse, raw: RawHeaders): void {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1')
    if (mayTrail(name.toLowerCase())) trailers.push([name, raw[i + 1]!.toString('latin1')])
  }
  response.addTrailers(isHttp2(response.req) ? headersOfHttp2(trailers.flat()) : trailers)
}

/** Not what says how a message is framed, routed or to be read: that must be known before its body. */
function mayTrail(name: string): boolean {
  return name !== '' && !isHopByHop(name) && !NEVER_LATE.has(name)
}

const NEVER_LATE: ReadonlySet<string> = new Set([
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
