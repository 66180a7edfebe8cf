import type { Logger } from 'pino'
import { Pool } from 'undici'
import { BodySlots } from './body-slots.js'
import { UpstreamState } from './upstream-state.js'

/** An upstream and its connection pool. */
export interface Upstream {
  /** Identifies upstreams that share a pool. */
  readonly key: string
  readonly origin: string
  /** The host name for TLS; undefined without TLS or for an IP address. */
  readonly serverName: string | undefined
  readonly pool: Pool
  readonly maxConnections: number
  readonly bodySlots: BodySlots
  readonly state: UpstreamState
  /** Requests in flight. */
  inFlight: number
  /** WebSockets that are open or opening, each with its own connection outside the pool. */
  tunnels: number
  /** No requests are sent before this time, because the upstream was unreachable. */
  asideUntilMs: number
}

export interface UpstreamOptions {
  readonly uri: string
  readonly connectMs: number
}

/** Maximum number of concurrent requests to one upstream; further requests are rejected with 503. */
export const MAX_IN_FLIGHT = 10_000

/** The upstreams of all routes: routes that name the same one share its connections. */
export interface Upstreams {
  /** Each call needs a matching `release`. */
  take(options: UpstreamOptions): Upstream
  release(options: UpstreamOptions): void
  readonly all: Iterable<Upstream>
  /** Closes all connections at once. */
  destroy(): Promise<void>
}

/** `maxConnections` applies to each upstream. */
export function createUpstreams(maxConnections: number, log: Logger): Upstreams {
  const entries = new Map<string, { upstream: Upstream; holders: number }>()
  const closing = new Set<Promise<unknown>>()
  return {
    take(options) {
      const key = keyOf(options)
      let entry = entries.get(key)
      if (entry === undefined) {
        entry = { upstream: createUpstream(options, maxConnections, log), holders: 0 }
        entries.set(key, entry)
      }
      entry.holders++
      return entry.upstream
    },
    release(options) {
      const key = keyOf(options)
      const entry = entries.get(key)
      if (entry === undefined || --entry.holders > 0) return
      entries.delete(key)
      const closed = entry.upstream.pool.close().catch(() => {})
      closing.add(closed)
      closed.then(() => closing.delete(closed))
    },
    get all() {
      return [...entries.values()].map(({ upstream }) => upstream)
    },
    async destroy() {
      for (const { upstream } of entries.values()) closing.add(upstream.pool.destroy())
      entries.clear()
      await Promise.all(closing)
    },
  }
}

function keyOf({ uri, connectMs }: UpstreamOptions): string {
  return `${new URL(uri).origin} ${connectMs}`
}

function createUpstream({ uri, connectMs }: UpstreamOptions, maxConnections: number, log: Logger): Upstream {
  const { origin, protocol, hostname } = new URL(uri)
  const isName = !/^[\d.]+$|^\[/.test(hostname)
  return {
    key: keyOf({ uri, connectMs }),
    origin,
    // Not the client's Host header.
    serverName: protocol === 'https:' && isName ? hostname : undefined,
    pool: new Pool(origin, {
      connections: maxConnections,
      connect: { timeout: connectMs },
      pipelining: 1,
      allowH2: false,
    }),
    maxConnections,
    bodySlots: new BodySlots(maxConnections),
    state: new UpstreamState(origin, log),
    inFlight: 0,
    tunnels: 0,
    asideUntilMs: 0,
  }
}
