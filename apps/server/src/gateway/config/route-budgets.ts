import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import type { RouteLimits, TokenBudget, TokenBudgets } from '../route.js'
import type { FilterEffect } from '../spring/filter.js'

type Placed = FilterEffect & { readonly at: Path }

/** Collects the token budgets of a route's filters, and reports conflicts. */
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
    // Two keys may resolve to one value, and a reservation may have each policy and key only once.
    const hasPolicy = budgets.some((other) => other.policy.name === policy.name)
    const isLimit = limits.some((limit) => limit.policy.name === policy.name && limit.key.text === key.text)
    if (hasPolicy)
      document.addError(
        at,
        `the route already has a TokenBudget with the policy ${quote(policy.name)}; use another policy`,
      )
    if (isLimit) {
      document.addError(
        at,
        `the route already counts this key by the policy ${quote(policy.name)}; remove one of the filters`,
      )
    }
    if (isWebSocket)
      document.addError(
        at,
        'TokenBudget does not support WebSockets; remove it, or use an http: uri without webSocket: true',
      )
    budgets.push(budget)
    maxBodyBytes = Math.min(maxBodyBytes, maxBudgetBodyBytes ?? maxBodyBytes)
  }
  return { budgets, maxBodyBytes }
}
