import type { Socket } from 'node:net'
import type { Proxies } from '@tidegate/http'
import type { CorsRule } from '../cors/cors.js'
import { type Peer, peerFinder } from '../request/peer.js'
import type { GatewayRequest, Route, RouteFallback } from '../route.js'
import { type Balancer, createBalancer } from '../upstreams/balancer.js'
import type { Breakers } from '../upstreams/breakers.js'
import type { HealthChecks } from '../upstreams/health-checks.js'
import type { Upstreams } from '../upstreams/upstreams.js'
import { type GatewayMeters, NO_ROUTE, type RouteMeter } from './route-metrics.js'

/** The routes of a configuration. */
export interface Routing {
  readonly routes: readonly Route[]
  readonly find: (request: GatewayRequest) => Route | undefined
  readonly proxies: Proxies
  /** Default: cross-origin requests are left to the upstreams. */
  readonly cors?: readonly CorsRule[]
}

export interface ActiveRoute {
  readonly route: Route
  readonly balancer: Balancer
  readonly meter: RouteMeter
}

/** The active routes with their connections. A reload replaces the whole object, so a request sees one configuration. */
export interface ActiveRoutes {
  readonly proxies: Proxies
  readonly cors: readonly CorsRule[]
  readonly peerOf: (socket: Socket) => Peer
  /** The meter of requests without a route. */
  readonly meter: RouteMeter
  find(request: GatewayRequest): ActiveRoute | undefined
  /** The route of a fallback, for a request with the path of the fallback. */
  findFallback(fallback: RouteFallback, request: GatewayRequest): ActiveRoute | undefined
  /** Marks the start of a request; `leave` marks its end. */
  enter(): void
  leave(): void
  /** Releases the upstreams when the last request that uses these routes has ended. */
  retire(): void
}

export function activateRoutes(
  { routes, find, proxies, cors = [] }: Routing,
  meters: GatewayMeters,
  upstreams: Upstreams,
  checks: HealthChecks,
  breakers: Breakers,
): ActiveRoutes {
  const meterOf = meters.metersFor(routes.map(({ id }) => id))
  const all = new Map<Route, ActiveRoute>()
  for (const own of routes) {
    for (const route of [own, own.breaker?.fallback?.route]) {
      if (route === undefined) continue
      const balancer = createBalancer(route, upstreams, checks, breakers)
      all.set(route, { route, balancer, meter: meterOf(route.id) })
    }
  }
  let requestsInFlight = 0
  let isRetired = false
  const release = () => {
    for (const { balancer } of all.values()) balancer.release()
  }
  return {
    proxies,
    cors,
    peerOf: peerFinder(proxies),
    meter: meterOf(NO_ROUTE),
    find(request) {
      const route = find(request)
      return route === undefined ? undefined : all.get(route)
    },
    findFallback(fallback, request) {
      const route = fallback.route ?? find(request)
      return route === undefined ? undefined : all.get(route)
    },
    enter() {
      requestsInFlight++
    },
    leave() {
      if (--requestsInFlight === 0 && isRetired) release()
    },
    retire() {
      isRetired = true
      if (requestsInFlight === 0) release()
    },
  }
}
