import type { Logger } from 'pino'
import { Pool } from 'undici'
import { BodySlots } from './body-slots.js'
import { UpstreamState } from './upstream-state.js'

/** One place where requests go, with its connections. */
export interface Upstream {
  /** Two with the same are one. */
  readonly key: string
  readonly origin: string
  /** What a certificate must be for; undefined without TLS, or if an address is connected to. */
  readonly serverName: string | undefined
  readonly pool: Pool
  readonly maxConnections: number
  readonly bodySlots: BodySlots
  readonly state: UpstreamState
  /** Requests that are on their way to it, or being answered. */
  inFlight: number
  /** WebSockets that are open, or are to be: each has a connection of its own, beside those of the pool. */
  tunnels: number
  /** Until when it is left alone, because it could not be reached. */
  asideUntilMs: number
}

export interface UpstreamOptions {
  readonly uri: string
  readonly connectMs: number
}

/** More at once for one upstream would only wait: whoever comes then is told so. */
export const MAX_IN_FLIGHT = 10_000

/** The upstreams of all routes: routes that name the same one share its connections. */
export interface Upstreams {
  /** To be released once for each time it was taken. */
  take(options: UpstreamOptions): Upstream
  release(options: UpstreamOptions): void
  readonly all: Iterable<Upstream>
  /** Closes what is left, at once. */
  destroy(): Promise<void>
}

/** `maxConnections` is for each of them. */
export function createUpstreams(maxConnections: number, log: Logger): Upstreams {
  const held = new Map<string, { upstream: Upstream; holders: number }>()
  const closing = new Set<Promise<unknown>>()
  return {
    take(options) {
      const key = keyOf(options)
      let entry = held.get(key)
      if (entry === undefined) {
        entry = { upstream: createUpstream(options, maxConnections, log), holders: 0 }
        held.set(key, entry)
      }
      entry.holders++
      return entry.upstream
    },
    release(options) {
      const key = keyOf(options)
      const entry = held.get(key)
      if (entry === undefined || --entry.holders > 0) return
      held.delete(key)
      const closed = entry.upstream.pool.close().catch(() => {})
      closing.add(closed)
      closed.then(() => closing.delete(closed))
    },
    get all() {
      return [...held.values()].map(({ upstream }) => upstream)
    },
    async destroy() {
      for (const { upstream } of held.values()) closing.add(upstream.pool.destroy())
      held.clear()
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
    // Never by what the client writes in Host.
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
