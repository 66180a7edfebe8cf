import {
  type Decision,
  type MaybePromise,
  optionInvalid,
  type Policy,
  type Slot,
  show,
  showKeys,
} from '@tidegate/core'
import type { KeyResolver } from '../keys/resolvers.js'
import type { RequestFacts } from '../request.js'
import type { Checker } from './checker.js'
import { type CostOption, costInvalid, parseCost } from './cost.js'
import { releaseOf } from './release.js'

/** A limiter for middleware, made by `createLimiter` or `createRemoteLimiter`. */
export interface AnyLimiter {
  /** The policy, or its name if only a service has its numbers. */
  readonly policy?: Policy | string | undefined
  readonly store?: object | undefined
  check(key: string, cost?: number): MaybePromise<Decision>
  /** Required for a concurrency policy. */
  acquire?(key: string): MaybePromise<Slot>
  /** Required for `refundWhen`. */
  refund?(key: string, decision: Decision): MaybePromise<number>
}

export function checkByLimiter<Request>(
  limiter: AnyLimiter,
  key: KeyResolver<Request>,
  cost: CostOption<Request>,
  reportKeyUndefined: (facts: RequestFacts) => void,
): Checker<Request> {
  if (typeof limiter !== 'object' || limiter === null || typeof limiter.check !== 'function') {
    const message = `limiter must be made by createLimiter(), got ${showKeys(limiter)}. Write limiter: createLimiter({ policy: fixedWindow({ limit: 100, window: '1m' }) }).`
    throw optionInvalid('limiter', message)
  }
  const policy = typeof limiter.policy === 'object' ? limiter.policy : undefined
  const costOf = parseCost(cost, policy)
  const isConcurrency = policy?.algorithm === 'concurrency'
  if (isConcurrency && typeof limiter.acquire !== 'function') {
    const message = `limiter must have the method acquire for the concurrency policy ${show(policy.name)}. Write for example limiter: createLimiter({ policy }).`
    throw optionInvalid('limiter', message)
  }

  return {
    storeIdentity: limiter.store ?? limiter,
    policies: policy === undefined ? [] : [policy],
    async check(request, facts) {
      const resolved = key.resolve(facts, request)
      // Most keys and costs need no await, which would cost more than reading them.
      const text = typeof resolved === 'string' ? resolved : await resolved
      if (text === undefined) {
        reportKeyUndefined(facts)
        return undefined
      }
      const cost = costOf(request)
      const units = typeof cost === 'number' ? cost : await cost
      // `check` would take undefined as 1.
      if (units === undefined) throw costInvalid(units)
      if (isConcurrency) {
        const slot = await limiter.acquire!(text)
        return {
          allowed: slot.allowed,
          limits: [{ key: text, decision: slot, policy }],
          delayMs: 0,
          release: releaseOf(slot),
        }
      }
      const decision = await limiter.check(text, units)
      const { allowed, delayMs } = decision
      return { allowed, limits: [{ key: text, decision, policy }], delayMs }
    },
    refund:
      typeof limiter.refund === 'function' && !isConcurrency
        ? ({ limits: [limit] }) => limiter.refund?.(limit!.key, limit!.decision)
        : undefined,
  }
}
