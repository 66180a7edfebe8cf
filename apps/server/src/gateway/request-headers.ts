import type { IncomingMessage } from 'node:http'
import type { Proxies } from '@tidegate/http'
import { isAboutClient, pushForwarded } from './forwarded-headers.js'
import { isHopByHop, takesTrailers } from './hop-by-hop.js'
import { isHttp2 } from './http2.js'
import type { RequestFactsOf } from './request-facts.js'
import type { Forward, Route } from './route.js'

/** Names and values in turn, the way undici takes them: nothing is looked up again. */
export type Flat = (string | string[])[]

/**
 * What is sent on of a request's headers. Of those that may stand once Node has kept the first: what a key was made of is
 * what the upstream sees.
 */
export function headersToSend(
  message: IncomingMessage,
  { named, peer }: RequestFactsOf,
  { preserveHost }: Route,
  proxies: Proxies,
  id: string,
): Flat {
  const { headers } = message
  const flat: Flat = []
  for (const name in headers) {
    if (isOurs(name) || isHopByHop(name) || isAboutClient(name) || named?.has(name)) continue
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
 * Through how many gateways a request may have come. One whose upstream is itself would go on for ever; and each may try
 * again a few times, so that many more would be no end either.
 */
const MAX_HOPS = 4

export function isLoop({ headers: { via } }: IncomingMessage): boolean {
  return via !== undefined && via.split('tidegate').length > MAX_HOPS
}

/** What is written anew, or belongs to how a request is sent. */
function isOurs(name: string): boolean {
  switch (name) {
    case 'host':
    case 'via':
    case 'expect':
    case 'content-length':
    case 'x-request-id':
    // CGI programs take it for a setting of their own, HTTP_PROXY.
    case 'proxy':
      return true
    default:
      // Of HTTP/2: what HTTP/1.1 has in its first line.
      return name.charCodeAt(0) === 0x3a
  }
}

/** As filters see them. */
export function forwardOf(request: RequestFactsOf, flat: Flat): Forward {
  const headers = new Map<string, string | string[]>()
  for (let i = 0; i < flat.length; i += 2) headers.set(flat[i] as string, flat[i + 1]!)
  return { request, path: request.path, query: request.query, headers }
}

/** And back. Whatever a filter has set, how the request is framed is not its business. */
export function flatOf({ headers }: Forward): Flat {
  const flat: Flat = []
  for (const [name, value] of headers) {
    if (name === 'content-length' || name === 'expect' || (isHopByHop(name) && name !== 'te')) continue
    flat.push(name, value)
  }
  return flat
}
