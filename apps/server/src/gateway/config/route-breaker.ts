import type { ConfigDocument } from '../../config-file/document.js'
import type { Route, RouteBreaker } from '../route.js'
import { routeTo } from '../route-to.js'
import type { BreakerFilter } from '../spring/filter.js'
import { defaultRetry } from '../spring/filters/retry.js'
import { breakerSettings, breakerTimeoutMs } from './breaker-settings.js'

/** The circuit breaker of a route; undefined if it has no such filter. */
export function routeBreaker(
  document: ConfigDocument,
  id: string,
  filter: BreakerFilter | undefined,
  timeouts: Route['timeouts'],
): RouteBreaker | undefined {
  if (filter === undefined) return undefined
  const { name = id, fallback, statuses } = filter
  const origin = fallback?.origin
  const route =
    origin === undefined
      ? undefined
      : Object.freeze(routeTo(id, [origin], { retry: defaultRetry(1), timeouts }))
  return Object.freeze({
    name,
    settings: breakerSettings(document, name),
    isFailure: (status) => statuses.has(status),
    fallback: fallback && { path: fallback.path, route },
  })
}

/** Bounds `headersMs` by the time limit of the breaker, if the file has one. */
export function withBreakerTimeout(
  document: ConfigDocument,
  id: string,
  filter: BreakerFilter | undefined,
  timeouts: Route['timeouts'],
): Route['timeouts'] {
  const ms = filter && breakerTimeoutMs(document, filter.name ?? id)
  return ms === undefined
    ? timeouts
    : Object.freeze({ ...timeouts, headersMs: Math.min(ms, timeouts.headersMs) })
}
