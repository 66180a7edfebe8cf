import { type Decision, type MaybePromise, type Policy, show, TidegateError } from '@tidegate/core'
import { type CostOption, costInvalid, parseCost } from './cost.js'
import type { Counting } from './counted.js'
import type { RequestFacts } from './request.js'
import type { KeyResolver } from './resolvers.js'

/** The part of a limiter that middleware needs. Limiters of `createLimiter` and remote limiters have it. */
export interface AnyLimiter {
  /** The policy, or only its name where a service knows the numbers. */
  readonly policy?: Policy | string | undefined
  readonly store?: object | undefined
  check(key: string, cost?: number): MaybePromise<Decision>
  refund?(key: string, decision: Decision): MaybePromise<number>
}

export function countByLimiter<Request>(
  limiter: AnyLimiter,
  key: KeyResolver<Request>,
  cost: CostOption<Request>,
  keyUndefined: (facts: RequestFacts) => void,
): Counting<Request> {
  if (typeof limiter !== 'object' || limiter === null || typeof limiter.check !== 'function') {
    const message = `limiter must be made by createLimiter(), got ${show(limiter)}. Write limiter: createLimiter({ policy: fixedWindow({ limit: 100, window: '1m' }) }).`
    throw new TidegateError('OPTION_INVALID', message, { field: 'limiter' })
  }
  const policy = typeof limiter.policy === 'object' ? limiter.policy : undefined
  const costOf = parseCost(cost, policy)

  return {
    by: limiter.store ?? limiter,
    policies: policy === undefined ? [] : [policy],
    async count(request, facts) {
      const found = await key.resolve(facts, request)
      if (found === undefined) {
        keyUndefined(facts)
        return undefined
      }
      const units = await costOf(request)
      // `check` would take undefined as 1.
      if (units === undefined) throw costInvalid(units)
      const decision = await limiter.check(found, units)
      const { allowed, delayMs } = decision
      return { allowed, limits: [{ key: found, decision, policy }], delayMs }
    },
    refund:
      typeof limiter.refund === 'function'
        ? ({ limits: [limit] }) => limiter.refund?.(limit!.key, limit!.decision)
        : undefined,
  }
}
