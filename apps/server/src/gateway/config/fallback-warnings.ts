import type { ConfigDocument } from '../../config-file/document.js'
import type { GatewayRequest } from '../route.js'
import type { RouteConfig } from './route-reader.js'

/** Warns of fallbacks without a route. In Spring, a controller of the application may handle them. */
export function warnOfFallbacks(document: ConfigDocument, routes: readonly RouteConfig[]): void {
  for (const { id, at, breaker } of routes) {
    const fallback = breaker?.fallback
    if (fallback === undefined || fallback.route !== undefined) continue
    const request = requestFor(fallback.path)
    const hasRoute = routes.some(({ predicates }) => predicates.every(({ matches }) => matches(request)))
    if (hasRoute) continue
    document.addWarning(
      at,
      `no route matches ${fallback.path}, the fallback of ${id}, so clients get 503; add a route for it`,
      'key',
    )
  }
}

function requestFor(path: string): GatewayRequest {
  return { method: 'GET', path, query: '', header: () => undefined, address: undefined, timeMs: Date.now() }
}
