import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { contains } from '@tidegate/http'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { requestIds } from '../api/request-id.js'
import type { Config } from '../config/config.js'
import { type ConnectionLimits, exposeConnections, guardConnections } from '../connections.js'
import { drain } from '../http/drain.js'
import { urlOf } from '../http/url.js'
import { type AccessLogForm, createAccessLog } from './access-log.js'
import { handle } from './handle.js'
import { createHealthChecks } from './health-checks.js'
import { putInForce, type Routing } from './in-force.js'
import type { Handling } from './life.js'
import { createGatewayMeters } from './meters.js'
import { createGatewayServer, type Tls } from './server.js'
import { closeSessions } from './sessions.js'
import { createUpstreams, type Upstream } from './upstreams.js'

export interface GatewayOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly tls?: Tls | undefined
  readonly limits: Omit<Config['limits'], 'responseTimeoutMs'>
  /** Of clients. Default: 10,000, and 1,000 of one client. */
  readonly connections?: ConnectionLimits
  /** To one upstream. Default: 1024. */
  readonly maxConnections?: number
  /** For how long nothing may come of a body, or be read of an answer. Default: a minute. */
  readonly bodyIdleMs?: number
  /** Bytes per second at which a request body must arrive on average; 0: any. Default: 100. */
  readonly minBodyRate?: number
  /** A line for each request. Default: none. */
  readonly accessLog?: { readonly form: AccessLogForm; readonly write: (line: string) => void } | undefined
  readonly routing: Routing
  readonly log: Logger
  readonly registry: Registry
}

/** A reverse proxy that limits each of its routes. */
export interface Gateway {
  readonly url: string
  /** What has connections, for whoever wants to count them. */
  readonly upstreams: () => Iterable<Upstream>
  /** Another routing from now on. Requests that have begun go on by the one before. */
  use(routing: Routing): void
  /** Stops accepting, and answers what is there. */
  close(): Promise<void>
}

const CONNECTIONS: ConnectionLimits = { max: 10_000, maxPerClient: 1000 }
const MAX_CONNECTIONS = 1024
const BODY_IDLE_MS = 60_000
const MIN_BODY_RATE = 100

/** A gateway that listens. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port, tls, limits, log, registry, accessLog } = options
  const upstreams = createUpstreams(options.maxConnections ?? MAX_CONNECTIONS, log)
  const checks = createHealthChecks(log)
  const meters = createGatewayMeters(registry, () => upstreams.all)
  const handling: Handling = {
    routing: putInForce(options.routing, meters, upstreams, checks),
    idOf: requestIds() as (message: IncomingMessage) => string,
    bodyIdleMs: options.bodyIdleMs ?? BODY_IDLE_MS,
    minBodyRate: options.minBodyRate ?? MIN_BODY_RATE,
    maxHeaderBytes: limits.maxHeaderBytes,
    accessLog: accessLog && createAccessLog(accessLog.form, accessLog.write),
    onError: (error) => log.error({ err: error }, 'A request at the gateway failed'),
    isStopping: false,
  }
  const server = createGatewayServer({ limits, tls }, (message, response, upgrade) =>
    handle(handling, message, response, upgrade),
  )
  const connections = guardConnections(server, {
    ...(options.connections ?? CONNECTIONS),
    listener: 'gateway',
    log,
    ipv6Prefix: options.routing.proxies.ipv6Prefix,
    isProxy: (address) => handling.routing.proxies.trusted.some((range) => contains(range, address)),
  })
  exposeConnections(registry, 'gateway', connections)
  const listening = once(server, 'listening')
  server.listen(port, host)
  try {
    await listening
  } catch (error) {
    handling.routing.retire()
    await upstreams.destroy()
    throw error
  }
  server.on('error', (error) => log.error({ err: error }, 'A connection could not be accepted'))

  return {
    url: urlOf(server.address() as AddressInfo, tls === undefined ? 'http' : 'https'),
    upstreams: () => upstreams.all,
    use(routing) {
      const before = handling.routing
      handling.routing = putInForce(routing, meters, upstreams, checks)
      before.retire()
    },
    async close() {
      if (handling.isStopping) return
      handling.isStopping = true
      closeSessions(server)
      await drain(server, limits.stopTimeoutMs)
      handling.routing.retire()
      await upstreams.destroy()
    },
  }
}
