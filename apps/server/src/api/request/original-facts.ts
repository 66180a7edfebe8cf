import type { IncomingMessage } from 'node:http'
import { show } from '@tidegate/core'
import {
  formatAddress,
  isTrustedProxy,
  namedClient,
  type Proxies,
  type RequestFacts,
  targetReadings,
} from '@tidegate/http'
import { isAboutClient } from '../../gateway/request/forwarded-headers.js'
import { headerLines } from '../../http/header-lines.js'
import { badRequest, HttpError } from '../../http/http-error.js'
import type { OriginalRequest } from './original-request.js'

/** The header with the token of a proxy. Authorization is that of the proxy's client. */
export const TOKEN_HEADER = 'x-tidegate-token'

/** Throws 403 unless the connection comes from a trusted proxy. */
export function assertFromProxy({ socket }: IncomingMessage, proxies: Proxies): void {
  const { remoteAddress: peer } = socket
  if (isTrustedProxy(proxies, peer)) return
  const advice = `add the address of your proxy to trustedProxies in the configuration, for example trustedProxies: [${peer}].`
  throw new HttpError(403, `${peer} is not a trusted proxy; ${advice}`)
}

/** The facts of the original request for rules and keys. Throws 400 if the proxy does not name its client. */
export function originalFacts(
  message: IncomingMessage,
  { method, target, host }: OriginalRequest,
  proxies: Proxies,
): RequestFacts {
  return {
    // Some applications, such as those of Django, read `post` as POST.
    method: method.toUpperCase(),
    ...readingsOf(target),
    ip: clientOf(message, proxies),
    header(name) {
      if (name === 'host') return host === '' ? undefined : host
      return name === TOKEN_HEADER ? undefined : headerOf(message, name)
    },
    headerLines(name) {
      // Headers of the proxy, or headers to which every proxy adds a line.
      const isOneValue = name === 'host' || name === TOKEN_HEADER || isAboutClient(name)
      return isOneValue ? [] : headerLines(message.rawHeaders, name)
    },
  }
}

/**
 * Some proxies, such as nginx with a path in proxy_pass, decode %2F and %5C before they resolve dots. Applications that
 * read `new URL(request.url, base)` take the first segment of `//x/login` for a host.
 */
export function readingsOf(target: string): ReturnType<typeof targetReadings> {
  const { path, query, otherPaths } = targetReadings(target)
  const [raw = ''] = target.split('?', 1)
  const others = [raw.replace(/%2f/gi, '/').replace(/%5c/gi, '\\'), raw.replace(AUTHORITY, '')]
  const readings = others.filter((other) => other !== raw).map(targetReadings)
  if (readings.length === 0) return { path, query, otherPaths }
  return {
    path,
    query,
    otherPaths: [...otherPaths, ...readings.flatMap((other) => [other.path, ...other.otherPaths])],
  }
}

const AUTHORITY = /^[/\\]{2,}[^/\\]*/

function clientOf(message: IncomingMessage, proxies: Proxies): string {
  const header = (name: string) => headerOf(message, name)
  const client = namedClient(proxies, message.socket.remoteAddress, header)
  if (client !== undefined) return formatAddress(client, proxies.ipv6Prefix)
  const name = proxies.header === 'forwarded' ? 'Forwarded' : 'X-Forwarded-For'
  const value = header(proxies.header)
  const advice = `Let the proxy set ${name} to the client's address. See docs/operators/forward-auth.md.`
  if (value === undefined) throw badRequest(name, `${name} is missing. ${advice}`)
  throw badRequest(name, `${name} must end with the client's address, got ${show(value)}. ${advice}`)
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  if (typeof value === 'string') return value
  // Inherited members such as `constructor` are not headers.
  return Array.isArray(value) ? value.join(', ') : undefined
}
