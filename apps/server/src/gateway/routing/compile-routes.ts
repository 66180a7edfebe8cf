import type { FullStore } from '@tidegate/core'
import type { GatewayConfig } from '../config/gateway-config.js'
import type { Route } from '../route.js'
import { outputHistoryOf } from '../token-budget/output-history.js'
import { createRouteBudget, type RouteBudgetOptions } from './route-budget.js'
import { createRouteLimiter, type OnDecision } from './route-limiter.js'
import { createRouter, type Router } from './router.js'

/** Creates the router of a configuration, with limiters on the store. */
export function compileRoutes(
  config: GatewayConfig,
  store: FullStore,
  onDecision: OnDecision,
): Router<Route> {
  const budgetOptions = { reserve: reserveIn(store), history: outputHistoryOf(store), onDecision }
  return createRouter(
    config.routes.map(({ order, predicates, limits, budgets, line: _line, at: _at, ...route }) => ({
      order,
      predicates,
      route: Object.freeze({
        ...route,
        limiter: createRouteLimiter(route.id, limits, store, onDecision),
        budget: createRouteBudget(route.id, budgets, budgetOptions),
      }),
    })),
  )
}

/** Longer than any response. */
const RESERVATION_TTL = '1h'

function reserveIn(store: FullStore): RouteBudgetOptions['reserve'] {
  return async (limits) => {
    const { id, allowed, decisions } = await store.reserve(limits, { ttl: RESERVATION_TTL })
    const none = limits.map(() => 0)
    return {
      allowed,
      decisions,
      settle: async (actual) => store.settle(limits, id, actual),
      cancel: async () => store.settle(limits, id, none),
    }
  }
}
