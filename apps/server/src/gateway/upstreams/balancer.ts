import type { Route } from '../route.js'
import type { Breakers } from './breakers.js'
import type { CircuitBreaker } from './circuit-breaker.js'
import type { HealthChecks } from './health-checks.js'
import type { Upstream, UpstreamOptions, Upstreams } from './upstreams.js'

/** Time without requests for an unreachable upstream. */
const ASIDE_MS = 2000

/** Chooses the upstream of a request. */
export interface Balancer {
  readonly size: number
  /**
   * Round robin over the healthy upstreams, without the one that just failed if there is another. Undefined if every
   * circuit breaker is open.
   */
  next(excluded?: Upstream): Upstream | undefined
  /** Undefined: the route has no circuit breaker. */
  breakerOf(upstream: Upstream): CircuitBreaker | undefined
  release(): void
}

export function createBalancer(
  route: Route,
  upstreams: Upstreams,
  checks: HealthChecks,
  breakers: Breakers,
): Balancer {
  const options = route.upstreams.map(
    (uri): UpstreamOptions => ({ uri, connectMs: route.timeouts.connectMs }),
  )
  const routeUpstreams = options.map((one) => upstreams.take(one))
  const { healthCheck, breaker } = route
  const breakerOf = new Map<Upstream, CircuitBreaker>()
  if (breaker !== undefined) {
    for (const upstream of routeUpstreams)
      breakerOf.set(upstream, breakers.take(breaker.name, upstream.origin, breaker.settings))
  }
  const isOpen = (upstream: Upstream) => breakerOf.get(upstream)?.isAvailable === false
  const health =
    healthCheck === undefined ? [] : routeUpstreams.map((upstream) => checks.watch(upstream, healthCheck))
  let turn = 0

  return {
    size: routeUpstreams.length,
    next(excluded) {
      if (routeUpstreams.length === 1) return isOpen(routeUpstreams[0]!) ? undefined : routeUpstreams[0]
      const nowMs = Date.now()
      // If no upstream is healthy, one is tried anyway.
      let unhealthy: Upstream | undefined
      for (let i = 0; i < routeUpstreams.length; i++) {
        const at = (turn + i) % routeUpstreams.length
        const upstream = routeUpstreams[at]!
        if (upstream === excluded || isOpen(upstream)) continue
        unhealthy ??= upstream
        if (upstream.asideUntilMs > nowMs || health[at]?.isHealthy === false) continue
        turn = at + 1
        return upstream
      }
      turn++
      return unhealthy
    },
    breakerOf: (upstream) => breakerOf.get(upstream),
    release() {
      if (breaker !== undefined) {
        for (const { origin } of routeUpstreams) breakers.release(breaker.name, origin, breaker.settings)
      }
      if (healthCheck !== undefined)
        for (const upstream of routeUpstreams) checks.leave(upstream, healthCheck)
      for (const one of options) upstreams.release(one)
    },
  }
}

/** Sends no requests to an upstream for a moment. */
export function setAside(upstream: Upstream): void {
  upstream.asideUntilMs = Date.now() + ASIDE_MS
}
