import { assertCost, type MaybePromise, type Policy, show, TidegateError } from '@tidegate/core'

/** The option `cost`: a number, or a function of the request. */
export type CostOption<Request> = number | ((request: Request) => MaybePromise<number>)

/** Validates a cost immediately if the cost and the policy do not depend on the request. */
export function parseCost<Request>(
  cost: CostOption<Request>,
  policy: Policy | undefined,
): (request: Request) => MaybePromise<number> {
  if (typeof cost === 'function') return cost
  if (policy !== undefined) assertCost(policy, cost)
  else if (!Number.isInteger(cost) || cost < 1) {
    throw costInvalid(cost)
  }
  return () => cost
}

export function costInvalid(cost: unknown): TidegateError {
  const message = `cost must be a whole number of at least 1, or a function of the request, got ${show(cost)}. Leave it out for 1.`
  return new TidegateError('COST_INVALID', message, { field: 'cost' })
}
