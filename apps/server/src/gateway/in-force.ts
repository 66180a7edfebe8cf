import type { Socket } from 'node:net'
import type { Proxies } from '@tidegate/http'
import { type Balancer, createBalancer } from './balancer.js'
import type { HealthChecks } from './health-checks.js'
import { type GatewayMeters, NO_ROUTE, type RouteMeter } from './meters.js'
import { type Peer, peersBy } from './peer.js'
import type { GatewayRequest, Route } from './route.js'
import type { Upstreams } from './upstreams.js'

/** What the gateway is to do, as the configuration says. */
export interface Routing {
  readonly routes: readonly Route[]
  readonly find: (request: GatewayRequest) => Route | undefined
  readonly proxies: Proxies
}

export interface RouteInForce {
  readonly route: Route
  readonly balancer: Balancer
  readonly meter: RouteMeter
}

/** A routing with its connections. It is replaced as a whole: a request sees the old one or the new one. */
export interface RoutingInForce {
  readonly proxies: Proxies
  readonly peerOf: (socket: Socket) => Peer
  /** Of requests that no route is for. */
  readonly meter: RouteMeter
  find(request: GatewayRequest): RouteInForce | undefined
  /** A request begins; it ends with `leave`. */
  enter(): void
  leave(): void
  /** Lets go of its upstreams as soon as the last request that has seen it has ended. */
  retire(): void
}

export function putInForce(
  { routes, find, proxies }: Routing,
  meters: GatewayMeters,
  upstreams: Upstreams,
  checks: HealthChecks,
): RoutingInForce {
  const meterOf = meters.metersFor(routes.map(({ id }) => id))
  const all = new Map<Route, RouteInForce>()
  for (const route of routes) {
    all.set(route, { route, balancer: createBalancer(route, upstreams, checks), meter: meterOf(route.id) })
  }
  let active = 0
  let isRetired = false
  const release = () => {
    for (const { balancer } of all.values()) balancer.release()
  }
  return {
    proxies,
    peerOf: peersBy(proxies),
    meter: meterOf(NO_ROUTE),
    find(request) {
      const route = find(request)
      return route === undefined ? undefined : all.get(route)
    },
    enter() {
      active++
    },
    leave() {
      if (--active === 0 && isRetired) release()
    },
    retire() {
      isRetired = true
      if (active === 0) release()
    },
  }
}
