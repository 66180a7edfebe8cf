import type { Server, Socket } from 'node:net'
import { type Address, formatAddress, parseAddress } from '@tidegate/http'
import type { Logger } from 'pino'

export interface ConnectionLimits {
  /** Connections of one listener, of all clients together. */
  readonly max: number
  /** Connections of one client address. */
  readonly maxPerClient: number
}

export interface GuardOptions extends ConnectionLimits {
  /** Named in log lines: `api`, `gateway` or `rls`. */
  readonly listener: string
  readonly log: Logger
  /** Leading bits of an IPv6 address that are one client. Default: 64. */
  readonly ipv6Prefix?: number
  /** Trusted proxies carry many clients, so `maxPerClient` does not apply to them. Default: no address. */
  readonly isProxy?: (address: Address) => boolean
  /** Connections beyond `max` that only loopback addresses can open, for local health checks. Default: 0. */
  readonly reservedForLoopback?: number
  /** Time without a refused connection after which the limit counts as no longer reached. Default: 10 seconds. */
  readonly quietMs?: number
}

type Reason = 'max' | 'max_per_client'

export interface ConnectionCounts {
  readonly open: number
  readonly max: number
  /** Connections closed on arrival since the start, by the limit that was reached. */
  readonly refusedByReason: Readonly<Record<Reason, number>>
}

/**
 * Closes connections beyond the limits on arrival, before any byte is read. `server.maxConnections` is not used, because
 * workers of a cluster would hand such a connection to each other without end.
 */
export function guardConnections(server: Server, options: GuardOptions): ConnectionCounts {
  const { max, maxPerClient, listener, log, quietMs = 10_000 } = options
  const byClient = new Map<string, number>()
  const counts = { open: 0, max, refusedByReason: { max: 0, max_per_client: 0 } }
  /** The limits that are reached, so that each is logged once. */
  const reachedLimits = new Set<Reason>()
  const accept = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket, options)
    const ofClient = client === undefined ? 0 : (byClient.get(client) ?? 0)
    if (counts.open >= max + reserveFor(socket, options)) return void refuse(socket, 'max', client)
    if (ofClient >= maxPerClient) return void refuse(socket, 'max_per_client', client)
    counts.open++
    if (client !== undefined) byClient.set(client, ofClient + 1)
    socket.once('close', () => {
      counts.open--
      if (client === undefined) return
      const left = byClient.get(client)! - 1
      if (left === 0) byClient.delete(client)
      else byClient.set(client, left)
    })
    for (const handler of accept) handler.call(server, socket)
  })
  return counts

  function refuse(socket: Socket, reason: Reason, client: string | undefined): void {
    counts.refusedByReason[reason]++
    socket.destroy()
    if (reachedLimits.has(reason)) return
    reachedLimits.add(reason)
    const limit = reason === 'max' ? max : maxPerClient
    log.warn({ listener, reason, limit, open: counts.open, client }, 'Connection limit reached')
    watch(reason)
  }

  /** Logs once when no connection was refused for `quietMs`. */
  function watch(reason: Reason): void {
    let before = counts.refusedByReason[reason]
    const timer = setInterval(() => {
      const refused = counts.refusedByReason[reason]
      if (refused !== before) {
        before = refused
        return
      }
      clearInterval(timer)
      reachedLimits.delete(reason)
      log.info({ listener, reason, refused, open: counts.open }, 'Connections are accepted again')
    }, quietMs).unref()
  }
}

function reserveFor(socket: Socket, { reservedForLoopback = 0 }: GuardOptions): number {
  return isLoopback(socket) ? reservedForLoopback : 0
}

export function isLoopback({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress)
}

/** Undefined for trusted proxies and for sockets without an address. */
export function clientOf(
  { remoteAddress }: Pick<Socket, 'remoteAddress'>,
  { ipv6Prefix = 64, isProxy }: Pick<GuardOptions, 'ipv6Prefix' | 'isProxy'>,
): string | undefined {
  const address = remoteAddress === undefined ? undefined : parseAddress(remoteAddress)
  if (address === undefined || isProxy?.(address)) return undefined
  return formatAddress(address, ipv6Prefix)
}
