import type { IncomingHttpHeaders } from 'node:http'
import { contains, parseAddress, parseCidr } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { FORWARD_AUTH } from './original-request.js'

/*
 * A web page can make the browser of a visitor send requests to a service that only the visitor can reach. If the page uses
 * the address of the service, the browser marks the request as cross-site. If it uses a host name of its own that resolves to
 * that address (DNS rebinding), the Host header has that name.
 */

/** Returns a hook that rejects requests of pages of other sites. */
export function rejectForeignPages(service: Service) {
  const listensOnLoopback = isLoopbackHost(service.startConfig.host)
  return (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    const { headers } = request.raw
    const { allowedHosts, callers } = service.activeConfig.config
    const isHostChecked = allowedHosts.size > 0 || (listensOnLoopback && callers.length === 0)
    if (isHostChecked && !isOwnHost(headers.host, allowedHosts)) done(FOREIGN_HOST)
    else if (isCrossSite(headers) && isForPrograms(request)) done(CROSS_SITE)
    else done()
  }
}

/**
 * Whether the route is not a page, such as `/docs`, that other sites may link to. The path of the request cannot tell,
 * because the router decodes it: `/%61pi/` is `/api/`.
 *
 * The headers of a forward-auth request are those of the proxy's client, whose browser may be on another site. A page cannot
 * use that route: it needs X-Forwarded-For, which requires a preflight, and preflights are rejected.
 */
function isForPrograms({ routeOptions: { url: route = '' } }: FastifyRequest): boolean {
  if (route === FORWARD_AUTH || route === `${FORWARD_AUTH}/*`) return false
  return route.startsWith('/api/') || route === '/json'
}

/** Accepts every address, because requests of foreign pages have a host name or are cross-site. */
function isOwnHost(host: string | undefined, allowedHosts: ReadonlySet<string>): boolean {
  if (host === undefined || OWN_HOST.test(host)) return true
  return allowedHosts.size > 0 && allowedHosts.has(host.replace(/:\d*$/, '').toLowerCase())
}

const OWN_HOST = /^(?:(?:[\w-]+\.)?localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\])?(?::\d*)?$/i

/** A request with a token is not cross-site: a page needs a preflight to send one, and preflights are rejected. */
function isCrossSite(headers: IncomingHttpHeaders): boolean {
  const { authorization, origin, host } = headers
  if (authorization !== undefined) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== host
}

const FOREIGN_HOST = new HttpError(
  403,
  'This host name is not accepted, to protect against DNS rebinding. Add it to allowedHosts in the configuration, for example allowedHosts: [limits.example.com].',
)

const CROSS_SITE = new HttpError(
  403,
  'The API does not accept requests from pages of other origins; call it from your server instead.',
)

const LOOPBACK = [parseCidr('127.0.0.0/8')!, parseCidr('::1')!]

/** Whether a host name or address, with or without a port, always means this machine. */
export function isLoopbackHost(host: string): boolean {
  if (/^localhost(?::\d{1,5})?$/i.test(host)) return true
  const address = parseAddress(host)
  return address !== undefined && LOOPBACK.some((range) => contains(range, address))
}
