import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import type { Context } from 'koa'
import type { FrameworkProxies } from '../address/client-ip.js'

/*
 * The proxy settings of the frameworks. A setting that trusts every proxy would let clients forge their address, so it is
 * treated as one proxy.
 */

const ONE_PROXY: FrameworkProxies = { hops: 1, isGuess: true }

/** Reads `app.set('trust proxy', …)` of Express. */
export function expressProxies(request: Pick<ExpressRequest, 'app' | 'ip'>): FrameworkProxies | undefined {
  const setting: unknown = request.app?.get('trust proxy')
  if (setting === undefined || setting === false || setting === 0) return undefined
  if (setting === true) return ONE_PROXY
  return typeof setting === 'number' ? { hops: setting } : { client: request.ip }
}

/** Reads `app.proxy`, `app.maxIpsCount` and `app.proxyIpHeader` of Koa. */
export function koaProxies(context: Context): FrameworkProxies | undefined {
  const { app } = context
  if (!app.proxy) return undefined
  const { proxyIpHeader = 'X-Forwarded-For', maxIpsCount = 0 } = app
  if (proxyIpHeader.toLowerCase() === 'x-forwarded-for')
    return maxIpsCount > 0 ? { hops: maxIpsCount } : ONE_PROXY
  // A header with several entries is not an address, so it is ignored later.
  return { client: context.get(proxyIpHeader) }
}

/** Reads `fastify({ trustProxy: … })`. */
export function fastifyProxies(request: FastifyRequest): FrameworkProxies | undefined {
  // Fastify defines `ips` only if `trustProxy` is set.
  if (request.ips === undefined) return undefined
  return trustsEveryProxy(request) ? ONE_PROXY : { client: request.ips.at(-1) }
}

/**
 * Fastify does not expose the setting, so it is detected with a chain of addresses that are reserved for
 * documentation (RFC 5737). The chain is longer than any number of hops.
 */
function trustsEveryProxy(request: FastifyRequest): boolean {
  const { server } = request
  let isTrusting = trusting.get(server)
  if (isTrusting === undefined) {
    const socket = { remoteAddress: '203.0.113.1' }
    const headers = { 'x-forwarded-for': PROBE.join(', ') }
    const raw = { headers, socket, connection: socket }
    const probe = Object.create(request, { raw: { value: raw } }) as FastifyRequest
    isTrusting = probe.ips?.length === PROBE.length + 1
    trusting.set(server, isTrusting)
  }
  return isTrusting
}

const PROBE = Array.from({ length: 50 }, (_, i) => `192.0.2.${i + 1}`)
/** By server, because encapsulated servers share the setting but not the object. */
const trusting = new WeakMap<object, boolean>()
