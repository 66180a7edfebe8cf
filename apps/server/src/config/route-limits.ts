import { LONGEST_HOLD_MS } from '@tidegate/http'
import type { Contribution } from '../gateway/filter.js'
import type { RouteLimit, RouteLimits } from '../gateway/limit.js'
import type { ConfigDocument } from './document.js'
import type { Path } from './mistakes.js'

type Placed = Contribution & { readonly at: Path }

/** The limits of all filters of a route as one decision; what cannot be one is noted. */
export function limitsOf(document: ConfigDocument, filters: readonly Placed[]): RouteLimits {
  let status: number | undefined
  const limits: RouteLimit[] = []
  const queue = filters.some(({ queue }) => queue === true)
  for (const { at, refusalStatus, limits: more = [] } of filters) {
    if (refusalStatus !== undefined && status !== undefined && refusalStatus !== status) {
      document.wrong(
        at,
        `status-code is ${refusalStatus}, and ${status} in another filter of the route: all its limits are one decision; write the same`,
      )
    }
    status ??= refusalStatus
    for (const limit of more) {
      checkBeside(document, at, limits, limit)
      if (queue) checkQueue(document, at, limit)
      limits.push(limit)
    }
  }
  return Object.freeze({ limits, status: status ?? 429, queue })
}

/** Under one policy and one key, costs add up, and more than the limit at once can never pass. */
function checkBeside(
  document: ConfigDocument,
  at: Path,
  before: readonly RouteLimit[],
  limit: RouteLimit,
): void {
  const { policy, key, rule } = limit
  const same = before.filter((other) => other.policy.name === policy.name)
  if (same.some((other) => other.key.text === key.text && other.rule === rule)) {
    document.wrong(at, `the route counts by ${policy.name} under this key already; remove one of the filters`)
    return
  }
  const sum = same.reduce((sum, { cost }) => sum + cost, limit.cost)
  if (sum > policy.limit) {
    document.wrong(
      at,
      `the route takes up to ${sum} of ${policy.name} at once, which has only ${policy.limit}`,
    )
  }
}

/** What holds requests of one leaky bucket holds those of all. */
function checkQueue(document: ConfigDocument, at: Path, { policy }: RouteLimit): void {
  if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) return
  document.wrong(
    at,
    `with queue, ${policy.name} could hold a request for more than a day; take a smaller capacity or a faster leakRate`,
  )
}
