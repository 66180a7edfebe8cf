import type { Decision } from '../decision.js'
import { show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import type { Policy } from '../policy/index.js'
import type { MaybePromise, Store } from '../store/store.js'

/** The refunds of one limiter, with the units of each decision that have been given back. */
export function createRefunds(store: Store, policy: Policy) {
  const refunded = new WeakMap<Decision, number>()

  return function refund(key: string, decision: Decision, cost = decision?.cost): MaybePromise<number> {
    if (typeof decision !== 'object' || decision === null) {
      const message = `A refund needs the decision that check returned: refund(key, decision), got ${show(decision)}.`
      throw invalid(message, 'decision')
    }
    if (decision.policy !== policy.name) {
      const message = `The decision belongs to the policy "${decision.policy}", this limiter's policy is "${policy.name}". Refund it through the limiter that made it.`
      throw invalid(message, 'decision')
    }
    // Its settlement would give the same units back once more.
    if (decision.reserved !== undefined) {
      const message = 'A reservation cannot be refunded. Call settle(actual) or cancel() instead.'
      throw invalid(message, 'decision')
    }
    const left = decision.cost - (refunded.get(decision) ?? 0)
    if (!Number.isInteger(cost) || cost < 1 || cost > left) {
      const message = `A refund must be a whole number from 1 to the rest of the decision's cost, ${left}, got ${show(cost)}.`
      throw invalid(message, 'cost')
    }
    // Checked before the refund is recorded: an invalid key gives nothing back.
    assertKey(key)
    if (!tookUnits(decision)) return 0
    refunded.set(decision, decision.cost - left + cost)
    const { timeMs, degraded, leasedAtMs } = decision
    return store.refund({ policy, key, timeMs, cost, degraded, leasedAtMs })
  }
}

/** A denied or an open decision took nothing, nor did a charge without the store. */
function tookUnits({ allowed, degraded, charged }: Decision): boolean {
  return allowed && degraded !== 'open' && charged !== 0
}

function invalid(message: string, field: string): TidegateError {
  return new TidegateError('REFUND_INVALID', message, { field })
}
