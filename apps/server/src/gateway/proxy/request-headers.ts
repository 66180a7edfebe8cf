import type { IncomingMessage } from 'node:http'
import type { Proxies } from '@tidegate/http'
import { isAboutClient, pushForwarded } from '../request/forwarded-headers.js'
import { isHopByHop, takesTrailers } from '../request/hop-by-hop.js'
import type { GatewayRequestFacts } from '../request/request-facts.js'
import type { Forward, Route } from '../route.js'
import { isHttp2 } from './http2.js'

/** Alternating names and values, as undici accepts them. */
export type Flat = (string | string[])[]

/**
 * Builds the headers to forward. Of a header that may occur once, Node keeps the first line, so that keys are built from the
 * values that the upstream receives.
 */
export function headersToSend(
  message: IncomingMessage,
  { connectionHeaders, peer }: GatewayRequestFacts,
  { preserveHost }: Route,
  proxies: Proxies,
  id: string,
): Flat {
  const { headers } = message
  const flat: Flat = []
  for (const name in headers) {
    if (isSetByGateway(name) || isHopByHop(name) || isAboutClient(name) || connectionHeaders?.has(name))
      continue
    flat.push(name, headers[name]!)
  }
  if (preserveHost && headers.host !== undefined) flat.push('host', headers.host)
  if (headers.te !== undefined && takesTrailers(String(headers.te))) flat.push('te', 'trailers')
  pushForwarded(flat as string[], proxies, peer, headers)
  const via = isHttp2(message)
    ? '2 tidegate'
    : message.httpVersionMinor === 0
      ? '1.0 tidegate'
      : '1.1 tidegate'
  flat.push('via', headers.via === undefined ? via : `${headers.via}, ${via}`, 'x-request-id', id)
  return flat
}

/**
 * Maximum number of gateways that a request may have passed, to stop loops. It is small, because each gateway may retry
 * and so multiply the requests.
 */
const MAX_HOPS = 4

export function isLoop({ headers: { via } }: IncomingMessage): boolean {
  return via !== undefined && via.split('tidegate').length > MAX_HOPS
}

/** Whether the gateway sets this header itself. */
function isSetByGateway(name: string): boolean {
  switch (name) {
    case 'host':
    case 'via':
    case 'expect':
    case 'content-length':
    case 'x-request-id':
    // CGI programs would read it as their setting HTTP_PROXY.
    case 'proxy':
      return true
    default:
      // Pseudo-headers of HTTP/2.
      return name.charCodeAt(0) === 0x3a
  }
}

/** The request as filters see it. */
export function forwardOf(request: GatewayRequestFacts, flat: Flat): Forward {
  const headers = new Map<string, string | string[]>()
  for (let i = 0; i < flat.length; i += 2) headers.set(flat[i] as string, flat[i + 1]!)
  return { request, path: request.path, query: request.query, headers }
}

/** The headers after the filters, which cannot change the framing of the request. */
export function flatOf({ headers }: Forward): Flat {
  const flat: Flat = []
  for (const [name, value] of headers) {
    if (name === 'content-length' || name === 'expect' || (isHopByHop(name) && name !== 'te')) continue
    flat.push(name, value)
  }
  return flat
}

/** The headers of a request that is sent on without its body. */
export function withoutBodyHeaders(flat: Flat): Flat {
  return flat.filter((_, i) => !/^content-/.test(flat[i - (i % 2)] as string))
}
