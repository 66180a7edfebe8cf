import type { Decision } from '../decision.js'
import { show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy.js'
import type { RefundRequest, TakeRequest, WholeTakeResult } from './store.js'

/** Throws if the cost is invalid under this policy. */
export function assertCost(policy: Policy, cost: unknown): asserts cost is number {
  if (typeof cost !== 'number' || !Number.isInteger(cost) || cost < 1) {
    throw new TidegateError('COST_INVALID', `The cost must be a whole number from 1 up, got ${show(cost)}.`, {
      field: 'cost',
    })
  }
  if (cost > policy.limit) {
    throw new TidegateError(
      'COST_ABOVE_LIMIT',
      `A cost of ${cost} can never be allowed by "${policy.name}", whose limit is ${policy.limit}. Use a lower cost, or raise the limit.`,
      { field: 'cost' },
    )
  }
}

/** Throws if the refund is invalid. The algorithm decides how much of it is given. */
export function assertRefund({ policy, key, timeMs, cost }: RefundRequest): void {
  assertPolicy(policy)
  assertKey(key)
  for (const [field, value, isRight] of [
    ['timeMs', timeMs, Number.isFinite(timeMs)],
    ['cost', cost, Number.isInteger(cost) && cost >= 1],
  ] as const) {
    if (isRight) continue
    const what =
      field === 'cost' ? 'cost must be a whole number from 1 up' : "timeMs must be the decision's own"
    throw new TidegateError('REFUND_INVALID', `The refund's ${what}, got ${show(value)}.`, { field })
  }
}

/** One limit of a take: a policy and a key, with the sum of the costs of all its requests. */
export interface Limit {
  policy: Policy
  key: string
  cost: number
}

/** The limits of a take. It is a copy: the caller may change the list while the take is pending. */
export interface Limits {
  readonly limits: Limit[]
  /** For each request, the index of its limit. */
  readonly limitOfRequest: number[]
  /** For each request, its own cost. */
  readonly costs: number[]
}

export function limitsOf(requests: readonly TakeRequest[]): Limits {
  if (!Array.isArray(requests) || requests.length === 0) {
    throw new TidegateError('TAKE_INVALID', 'A take needs at least one request: [{ policy, key, cost }].')
  }
  if (requests.length > MAX_REQUESTS) {
    const message = `A take has at most ${MAX_REQUESTS} requests, got ${requests.length}: all of them are decided in one step, and other callers wait.`
    throw new TidegateError('TAKE_INVALID', message)
  }
  const limits: Limit[] = []
  const limitOfRequest: number[] = []
  const costs: number[] = []
  for (const request of requests) {
    if (typeof request !== 'object' || request === null) {
      const message = `Each request of a take is { policy, key, cost }, got ${show(request)}.`
      throw new TidegateError('TAKE_INVALID', message)
    }
    const { policy, key, cost } = request
    assertPolicy(policy)
    assertCost(policy, cost)
    costs.push(cost)
    let index = -1
    for (let i = 0; i < limits.length; i++) {
      const other = limits[i]!
      if (other.policy.name !== policy.name) continue
      if (!sameNumbers(other.policy, policy)) {
        throw new TidegateError(
          'TAKE_INVALID',
          `Two policies named "${policy.name}" with different numbers are in one take; give each a name of its own.`,
          { field: 'policy' },
        )
      }
      if (other.key === key) index = i
    }
    if (index < 0) {
      limitOfRequest.push(limits.push({ policy, key, cost }) - 1)
    } else {
      const limit = limits[index]!
      limit.cost += cost
      assertCost(policy, limit.cost)
      limitOfRequest.push(index)
    }
  }
  return { limits, limitOfRequest, costs }
}

const MAX_REQUESTS = 1000

/** The result of a take, from the decisions of its limits. */
export function takeResult(
  { limitOfRequest, costs }: Limits,
  decisions: readonly Decision[],
  allowed: boolean,
): WholeTakeResult {
  return {
    allowed,
    decisions: costs.map((cost, i) => ({ ...decisions[limitOfRequest[i]!]!, cost })),
    retryAfterMs: Math.max(...decisions.map((decision) => decision.retryAfterMs)),
    delayMs: allowed ? Math.max(...decisions.map((decision) => decision.delayMs)) : 0,
  }
}
