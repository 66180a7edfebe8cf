import { type Decision, type MaybePromise, type Policy, show, TidegateError } from '@tidegate/core'
import { type CostOption, costInvalid, parseCost } from './cost.js'
import type { Counted, Counting } from './counted.js'
import type { KeyResolver } from './resolvers.js'
import { isPromise } from './when.js'

/** What is needed of a limiter: one of `createLimiter` has it, and one that asks a service. */
export interface AnyLimiter {
  /** Its policy, or only the name where the numbers are known elsewhere. */
  readonly policy?: Policy | string | undefined
  readonly store?: object | undefined
  check(key: string, cost?: number): MaybePromise<Decision>
  refund?(key: string, decision: Decision): MaybePromise<number>
}

export function countByLimiter<Request>(
  limiter: AnyLimiter,
  key: KeyResolver<Request>,
  cost: CostOption<Request>,
  keyUndefined: () => void,
): Counting<Request> {
  if (typeof limiter !== 'object' || limiter === null || typeof limiter.check !== 'function') {
    const message = `limiter must be made by createLimiter(), got ${show(limiter)}.`
    throw new TidegateError('OPTION_INVALID', message, { field: 'limiter' })
  }
  const policy = typeof limiter.policy === 'object' ? limiter.policy : undefined
  const costOf = parseCost(cost, policy)

  function counted(key: string, decision: Decision): Counted {
    const { allowed, delayMs } = decision
    return { allowed, limits: [{ key, decision, policy }], delayMs }
  }

  function countAs(request: Request, key: string | undefined): MaybePromise<Counted | undefined> {
    if (key === undefined) return keyUndefined() as undefined
    const units = costOf(request)
    return isPromise(units) ? units.then((units) => take(key, units)) : take(key, units)
  }

  function take(key: string, units: number): MaybePromise<Counted> {
    // A limiter takes undefined for 1.
    if (units === undefined) throw costInvalid(units)
    const decision = limiter.check(key, units)
    return isPromise(decision) ? decision.then((decision) => counted(key, decision)) : counted(key, decision)
  }

  // Written out, and not with `when`: for most users this is the whole of it, and closures are half the cost.
  return {
    by: limiter.store ?? limiter,
    policies: policy === undefined ? [] : [policy],
    count(request, facts) {
      const found = key.resolve(facts, request)
      return isPromise(found) ? found.then((key) => countAs(request, key)) : countAs(request, found)
    },
    refund:
      typeof limiter.refund === 'function'
        ? ({ limits: [limit] }) => limiter.refund?.(limit!.key, limit!.decision)
        : undefined,
  }
}
