import { LONGEST_HOLD_MS } from '@tidegate/http'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import type { RouteLimit, RouteLimits } from '../route.js'
import type { FilterEffect } from '../spring/filter.js'

type Placed = FilterEffect & { readonly at: Path }

/** Collects the limits of a route's filters, which decide together, and reports conflicts. */
export function limitsOf(document: ConfigDocument, filters: readonly Placed[]): RouteLimits {
  let status: number | undefined
  const limits: RouteLimit[] = []
  const queue = filters.some(({ queue }) => queue === true)
  for (const { at, denialStatus, limits: more = [] } of filters) {
    if (denialStatus !== undefined && status !== undefined && denialStatus !== status) {
      document.addError(
        at,
        `status-code is ${denialStatus}, but another filter of the route has ${status}; write the same, because the limits of a route decide together`,
      )
    }
    status ??= denialStatus
    for (const limit of more) {
      checkConflicts(document, at, limits, limit)
      if (queue) checkQueue(document, at, limit)
      limits.push(limit)
    }
  }
  return Object.freeze({ limits, status: status ?? 429, queue })
}

/** Reports a duplicate, and costs of one policy whose sum is above its limit: such requests would always be denied. */
function checkConflicts(
  document: ConfigDocument,
  at: Path,
  before: readonly RouteLimit[],
  limit: RouteLimit,
): void {
  const { policy, key, rule } = limit
  const same = before.filter((other) => other.policy.name === policy.name)
  if (same.some((other) => other.key.text === key.text && other.rule === rule)) {
    document.addError(
      at,
      `the route already counts this key by the policy ${quote(policy.name)}; remove one of the filters`,
    )
    return
  }
  // A request holds one slot of each key.
  if (policy.algorithm === 'concurrency') return
  const sum = same.reduce((sum, { cost }) => sum + cost, limit.cost)
  if (sum > policy.limit) {
    document.addError(
      at,
      `a request to this route costs up to ${sum} units of the policy ${quote(policy.name)}, but its limit is ${policy.limit}; remove a filter, or raise the limit`,
    )
  }
}

/** Reports a leaky bucket that is too slow for `queue`, which applies to all leaky buckets of the route. */
function checkQueue(document: ConfigDocument, at: Path, { policy }: RouteLimit): void {
  if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) return
  document.addError(
    at,
    `with queue: true, the policy ${quote(policy.name)} could delay a request by more than a day; use a smaller capacity or a faster leakRate`,
  )
}
