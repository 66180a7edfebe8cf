import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import type { RouteLimits, TokenBudget, TokenBudgets } from '../route.js'
import type { FilterEffect } from '../spring/filter.js'

type Placed = FilterEffect & { readonly at: Path }

/** The token budgets of all filters of a route; conflicts are reported. */
export function budgetsOf(
  document: ConfigDocument,
  filters: readonly Placed[],
  { limits }: RouteLimits,
  isWebSocket: boolean,
): TokenBudgets {
  const budgets: TokenBudget[] = []
  let maxBodyBytes = Number.POSITIVE_INFINITY
  for (const { at, budget, maxBudgetBodyBytes } of filters) {
    if (budget === undefined) continue
    const { policy, key } = budget
    // Two keys may be equal, and a reservation may have each policy and key only once.
    const hasPolicy = budgets.some((other) => other.policy.name === policy.name)
    const isLimit = limits.some((limit) => limit.policy.name === policy.name && limit.key.text === key.text)
    if (hasPolicy)
      document.addError(
        at,
        `the route already has a TokenBudget with the policy ${policy.name}; use another policy`,
      )
    if (isLimit) {
      document.addError(
        at,
        `the route already counts this key by the policy ${policy.name}; remove one of the filters`,
      )
    }
    if (isWebSocket)
      document.addError(
        at,
        'TokenBudget cannot count WebSockets; remove it, or use an http: uri without webSocket: true',
      )
    budgets.push(budget)
    maxBodyBytes = Math.min(maxBodyBytes, maxBudgetBodyBytes ?? maxBodyBytes)
  }
  return { budgets, maxBodyBytes }
}
