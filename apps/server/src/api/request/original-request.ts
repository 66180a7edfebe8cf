import type { IncomingMessage } from 'node:http'
import { show } from '@tidegate/core'
import { badRequest } from '../../http/http-error.js'
import { BAD_HOST, isHost } from '../../http/strict.js'

/*
 * A proxy describes the original request in headers. Envoy writes it into the request line instead: the original path below
 * the path of the route, with the original method.
 *
 * A client can send the same headers, and many proxies pass on headers that they do not set. Therefore all descriptions of a
 * fact must agree: a client can have its own request rejected, but cannot replace a value that the proxy sets.
 */

export const FORWARD_AUTH = '/api/v1/forward-auth'

/** The request that a proxy received from its client. */
export interface OriginalRequest {
  readonly method: string
  /** The path and query, as the client sent them. */
  readonly target: string
  /** Empty if the client sent none. */
  readonly host: string
}

/** Throws 400 if a description is missing, malformed, repeated or contradicts another one. */
export function readOriginalRequest(message: IncomingMessage): OriginalRequest {
  const { url = '', method = '', headers } = message
  const rest = url.slice(FORWARD_AUTH.length)
  const isBelow = url.startsWith(`${FORWARD_AUTH}/`)
  const uris = URI_HEADERS.flatMap((header) => descriptionIn(message, header))
  const methods = METHOD_HEADERS.flatMap((header) => descriptionIn(message, header))
  if (isBelow) {
    uris.push({ source: `the path below ${FORWARD_AUTH}`, value: rest })
    methods.push({ source: 'the method of the request', value: method })
  }
  return {
    method: methodOf(methods),
    target: targetOf(uris),
    host: isBelow ? (headers.host ?? '') : hostOf(message, uris),
  }
}

interface Description {
  readonly source: string
  readonly value: string
}

const URI_HEADERS = ['X-Forwarded-Uri', 'X-Original-URI', 'X-Original-URL']
const METHOD_HEADERS = ['X-Forwarded-Method', 'X-Original-Method']
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
/** Proxies write the target of the request line, which has no spaces. */
const TARGET = /^\/[!-~\x80-\xff]*$/
const ORIGIN = /^https?:\/\/([^/?#\\]*)/i

function methodOf(methods: readonly Description[]): string {
  const method = agreedValue(methods)
  if (method === undefined) {
    throw missing('X-Forwarded-Method', "Let the proxy set it to the client's method.")
  }
  if (METHOD.test(method)) return method
  throw badRequest(
    'X-Forwarded-Method',
    `X-Forwarded-Method must be a method such as POST, got ${show(method)}.`,
  )
}

/** The path and query. Of a whole URL, as ingress-nginx sends it, the origin is removed. */
function targetOf(uris: readonly Description[]): string {
  const target = agreedValue(uris.map(({ source, value }) => ({ source, value: value.replace(ORIGIN, '') })))
  if (target === undefined) {
    throw missing('X-Forwarded-Uri', "Let the proxy set it to the client's path and query.")
  }
  if (TARGET.test(target)) return target
  const accepted = 'the path and query as the client sent them, such as /login?next=/'
  throw badRequest('X-Forwarded-Uri', `X-Forwarded-Uri must be ${accepted}, got ${show(target)}.`)
}

function hostOf(message: IncomingMessage, uris: readonly Description[]): string {
  const fromUris = uris.flatMap(({ source, value }) => {
    const origin = ORIGIN.exec(value)
    return origin === null ? [] : [{ source, value: origin[1]! }]
  })
  const host = agreedValue([...descriptionIn(message, 'X-Forwarded-Host', true), ...fromUris])
  if (host === undefined) {
    throw missing('X-Forwarded-Host', "Let the proxy set it to the client's Host header.")
  }
  if (isHost(host)) return host
  throw badRequest('X-Forwarded-Host', BAD_HOST.replace('Host', 'X-Forwarded-Host'))
}

function descriptionIn(
  { headersDistinct }: IncomingMessage,
  header: string,
  mayBeEmpty = false,
): Description[] {
  const lines = headersDistinct[header.toLowerCase()] ?? []
  if (lines.length > 1) {
    const advice = 'Let the proxy replace the header of its client instead of adding another one.'
    throw badRequest(header, `${header} must be sent once, got ${lines.length} lines. ${advice}`)
  }
  const [value = ''] = lines
  return lines.length === 0 || (value === '' && !mayBeEmpty) ? [] : [{ source: header, value }]
}

/** The value on which all descriptions agree; undefined if there is none. */
function agreedValue([first, ...others]: readonly Description[]): string | undefined {
  if (first === undefined) return undefined
  const other = others.find(({ value }) => value !== first.value)
  if (other === undefined) return first.value
  const conflict = `${first.source} is ${show(first.value)}, but ${other.source} is ${show(other.value)}`
  const advice = `Let the proxy remove the header that it does not set, or call ${FORWARD_AUTH} without a path below it.`
  throw badRequest(first.source, `${conflict}. ${advice}`)
}

function missing(header: string, advice: string) {
  return badRequest(header, `${header} is missing. ${advice} See docs/operators/forward-auth.md.`)
}
