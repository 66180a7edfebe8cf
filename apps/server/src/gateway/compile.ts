import type { Store } from '@tidegate/core'
import type { GatewayConfig } from '../config/gateway.js'
import { createLimit, type OnDecision } from './limit.js'
import type { Route } from './route.js'
import { createRouter, type Router } from './router.js'

/** The routes of a file, ready to be taken: they know where to count. */
export function compileRoutes(config: GatewayConfig, store: Store, onDecision: OnDecision): Router<Route> {
  return createRouter(
    config.routes.map(({ order, predicates, limits, line: _line, ...route }) => ({
      order,
      predicates,
      route: Object.freeze({ ...route, limit: createLimit(route.id, limits, store, onDecision) }),
    })),
  )
}
