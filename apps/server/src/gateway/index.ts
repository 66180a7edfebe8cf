import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { contains } from '@tidegate/http'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createClientShares } from '../http/client-shares.js'
import { type ConnectionLimits, guardConnections } from '../http/connection-guard.js'
import { drain } from '../http/drain.js'
import { requestIds } from '../http/request-id.js'
import type { RequestLimits } from '../http/request-limits.js'
import { urlOf } from '../http/url.js'
import { exposeConnections } from '../metrics/connection-metrics.js'
import { type AccessLogForm, createAccessLog } from './proxy/access-log.js'
import { createGatewayServer, type Tls } from './proxy/gateway-server.js'
import { handle } from './proxy/handle.js'
import { closeSessions } from './proxy/http2-sessions.js'
import type { GatewayState } from './proxy/request-context.js'
import { activateRoutes, type Routing } from './routing/active-routes.js'
import { createGatewayMeters } from './routing/route-metrics.js'
import { createBreakers } from './upstreams/breakers.js'
import { createHealthChecks } from './upstreams/health-checks.js'
import { createUpstreams, type Upstream } from './upstreams/upstreams.js'

export interface GatewayOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly tls?: Tls | undefined
  readonly limits: RequestLimits
  /** Limits of client connections. Default: 10,000, and 1,000 per client. */
  readonly connections?: ConnectionLimits
  /** Maximum connections to one upstream. Default: 1024. */
  readonly maxConnections?: number
  /** How long a request body may pause, or a client may pause reading a response. Default: a minute. */
  readonly bodyIdleMs?: number
  /** Bytes per second at which a request body must arrive on average; 0: any. Default: 100. */
  readonly minBodyRate?: number
  /** Writes one line per request. Default: off. */
  readonly accessLog?: { readonly form: AccessLogForm; readonly write: (line: string) => void } | undefined
  readonly routing: Routing
  readonly log: Logger
  readonly registry: Registry
}

/** A reverse proxy with rate limits per route. */
export interface Gateway {
  readonly url: string
  /** The upstreams that have connections. */
  readonly upstreams: () => Iterable<Upstream>
  /** Replaces the routes. Requests in flight finish with the previous ones. */
  use(routing: Routing): void
  /** Stops accepting connections, and finishes the requests in flight. */
  close(): Promise<void>
}

const CONNECTIONS: ConnectionLimits = { max: 10_000, maxPerClient: 1000 }
const MAX_CONNECTIONS = 1024
const BODY_IDLE_MS = 60_000
const MIN_BODY_RATE = 100
/** How long closing waits for token budgets to be settled. */
const MAX_SETTLEMENT_MS = 1000
const BODY_MEMORY = { perClient: 64 * 1024 * 1024, together: 256 * 1024 * 1024 }

/** Starts a gateway. Resolves once it listens. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port, tls, limits, log, registry, accessLog } = options
  const upstreams = createUpstreams(options.maxConnections ?? MAX_CONNECTIONS, log)
  const checks = createHealthChecks(log)
  const breakers = createBreakers(log)
  const meters = createGatewayMeters(registry, () => upstreams.all)
  const state: GatewayState = {
    routing: activateRoutes(options.routing, meters, upstreams, checks, breakers),
    idOf: requestIds() as (message: IncomingMessage) => string,
    bodyIdleMs: options.bodyIdleMs ?? BODY_IDLE_MS,
    minBodyRate: options.minBodyRate ?? MIN_BODY_RATE,
    maxHeaderBytes: limits.maxHeaderBytes,
    accessLog: accessLog && createAccessLog(accessLog.form, accessLog.write),
    bodyMemory: createClientShares(BODY_MEMORY),
    settlements: new Set(),
    onError: (error) => log.error({ err: error }, 'Gateway request failed'),
    isStopping: false,
  }
  const server = createGatewayServer({ limits, tls }, (message, response, upgrade) =>
    handle(state, message, response, upgrade),
  )
  const connections = guardConnections(server, {
    ...(options.connections ?? CONNECTIONS),
    listener: 'gateway',
    log,
    ipv6Prefix: options.routing.proxies.ipv6Prefix,
    isProxy: (address) => state.routing.proxies.trusted.some((range) => contains(range, address)),
  })
  exposeConnections(registry, 'gateway', connections)
  const listening = once(server, 'listening')
  server.listen(port, host)
  try {
    await listening
  } catch (error) {
    state.routing.retire()
    await upstreams.destroy()
    throw error
  }
  server.on('error', (error) => log.error({ err: error }, 'Gateway connection could not be accepted'))

  return {
    url: urlOf(server.address() as AddressInfo, tls === undefined ? 'http' : 'https'),
    upstreams: () => upstreams.all,
    use(routing) {
      const before = state.routing
      state.routing = activateRoutes(routing, meters, upstreams, checks, breakers)
      before.retire()
    },
    async close() {
      if (state.isStopping) return
      state.isStopping = true
      closeSessions(server)
      await drain(server, limits.stopTimeoutMs)
      await Promise.race([
        Promise.all(state.settlements),
        setTimeout(MAX_SETTLEMENT_MS, undefined, { ref: false }),
      ])
      state.routing.retire()
      await upstreams.destroy()
    },
  }
}
