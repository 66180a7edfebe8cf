import type { HealthChecks } from './health-checks.js'
import type { Route } from './route.js'
import type { Upstream, UpstreamOptions, Upstreams } from './upstreams.js'

/** How long an upstream that cannot be reached is left alone. */
const ASIDE_MS = 2000

/** Says which of a route's upstreams is next. */
export interface Balancer {
  readonly size: number
  /** In turn, of those that are well; not the one that has just failed, if there is another. */
  next(butNot?: Upstream): Upstream | undefined
  release(): void
}

export function createBalancer(route: Route, upstreams: Upstreams, checks: HealthChecks): Balancer {
  const options = route.upstreams.map(
    (uri): UpstreamOptions => ({ uri, connectMs: route.timeouts.connectMs }),
  )
  const taken = options.map((one) => upstreams.take(one))
  const { healthCheck } = route
  const health = healthCheck === undefined ? [] : taken.map((upstream) => checks.watch(upstream, healthCheck))
  let turn = 0

  return {
    size: taken.length,
    next(butNot) {
      if (taken.length === 1) return taken[0]
      const nowMs = Date.now()
      // If none is well, any may be: to refuse everything for sure helps nobody.
      let worst: Upstream | undefined
      for (let i = 0; i < taken.length; i++) {
        const at = (turn + i) % taken.length
        const upstream = taken[at]!
        if (upstream === butNot) continue
        worst ??= upstream
        if (upstream.asideUntilMs > nowMs || health[at]?.isWell === false) continue
        turn = at + 1
        return upstream
      }
      turn++
      return worst
    },
    release() {
      if (healthCheck !== undefined) for (const upstream of taken) checks.leave(upstream, healthCheck)
      for (const one of options) upstreams.release(one)
    },
  }
}

/** Leaves an upstream alone for a moment. */
export function putAside(upstream: Upstream): void {
  upstream.asideUntilMs = Date.now() + ASIDE_MS
}
