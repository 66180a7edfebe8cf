import type { Decision } from '../decision.js'
import { show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import type { Policy } from '../policy/index.js'
import type { MaybePromise, Store } from '../store/store.js'

/** Creates `refund` of a limiter, which tracks how many units of each decision have been given back. */
export function createRefunds(store: Store, policy: Policy) {
  const refunded = new WeakMap<Decision, number>()

  return function refund(key: string, decision: Decision, cost = decision?.cost): MaybePromise<number> {
    if (typeof decision !== 'object' || decision === null) {
      const message = `decision must be a decision returned by check, got ${show(decision)}. Write for example refund(key, await check(key)).`
      throw invalid(message, 'decision')
    }
    if (decision.policy !== policy.name) {
      const message = `decision must be a decision of this limiter's policy "${policy.name}", got a decision of the policy "${decision.policy}". Refund it through the limiter that made it.`
      throw invalid(message, 'decision')
    }
    // The settlement would give the same units back again.
    if (decision.reserved !== undefined) {
      const message =
        'A reservation cannot be refunded. Call settle(actual) or cancel() of the reservation instead.'
      throw invalid(message, 'decision')
    }
    const left = decision.cost - (refunded.get(decision) ?? 0)
    if (!Number.isInteger(cost) || cost < 1 || cost > left) {
      const message =
        left === 0
          ? `The ${decision.cost} units of this decision have already been refunded.`
          : `cost must be a whole number from 1 to the decision's remaining ${left} units, got ${show(cost)}. Write for example refund(key, decision, ${left}).`
      throw invalid(message, 'cost')
    }
    // Validate the key before recording the refund, because an invalid key gives nothing back.
    assertKey(key)
    if (!tookUnits(decision)) return 0
    refunded.set(decision, decision.cost - left + cost)
    const { timeMs, degraded, leasedAtMs } = decision
    return store.refund({ policy, key, timeMs, cost, degraded, leasedAtMs })
  }
}

/** Whether a decision took units. Denied decisions, `open` decisions and charges without the store did not. */
function tookUnits({ allowed, degraded, charged }: Decision): boolean {
  return allowed && degraded !== 'open' && charged !== 0
}

function invalid(message: string, field: string): TidegateError {
  return new TidegateError('REFUND_INVALID', message, { field })
}
