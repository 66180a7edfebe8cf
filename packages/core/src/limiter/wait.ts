import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { numberOption, optionInvalid } from '../options.js'
import { assertRatePolicy } from '../policy/assert-rate-policy.js'
import type { Policy, RatePolicy } from '../policy/index.js'
import { assertCost } from '../store/requests.js'
import type { MaybePromise } from '../store/store.js'
import type { AbortSignalLike } from './on-abort.js'
import { paceOf } from './pace.js'
import { createWaitQueue, type WaitQueue } from './wait-queue.js'

/** Options of `limiter.wait`. */
export interface WaitOptions {
  /** The number of units to take. Default: 1. */
  cost?: number
  /** The maximum wait in milliseconds, 0 to 86,400,000 (one day). Default: 30,000. */
  timeoutMs?: number
  /** Ends the wait when it aborts. Default: none. */
  signal?: AbortSignalLike
}

/** The methods of the limiter that `wait` uses. */
interface LimiterMethods {
  check(key: string, cost: number): MaybePromise<Decision>
  peek(key: string, cost: number): MaybePromise<Decision>
  refund(key: string, decision: Decision): MaybePromise<number>
}

const DEFAULT_TIMEOUT_MS = 30_000
const MAX_TIMEOUT_MS = 86_400_000
/** About 100 MB. */
const MAX_WAITING = 100_000

/** Creates `wait` of a limiter. */
export function createWait(policy: Policy, { check, peek, refund }: LimiterMethods) {
  let queue: WaitQueue | undefined

  /** For `countDenied`: a denied check would be charged, and would prolong the wait. */
  async function peekAndCheck(key: string, cost: number): Promise<Decision> {
    const decision = await peek(key, cost)
    return decision.allowed ? check(key, cost) : decision
  }

  return async (key: string, options: WaitOptions = {}): Promise<Decision> => {
    assertWaitable(policy)
    assertOptions('wait()', options, ['cost', 'timeoutMs', 'signal'])
    const { cost = 1, signal } = options
    assertKey(key)
    assertCost(policy, cost)
    const timeoutMs = numberOption('timeoutMs', options.timeoutMs, {
      from: 0,
      to: MAX_TIMEOUT_MS,
      otherwise: DEFAULT_TIMEOUT_MS,
    })
    if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
      const message = `signal must be an AbortSignal, got ${show(signal)}. Write for example signal: controller.signal.`
      throw optionInvalid('signal', message)
    }
    queue ??= createWaitQueue({
      name: policy.name,
      pace: paceOf(policy),
      check: policy.countDenied ? peekAndCheck : check,
      refund,
      maxWaiting: MAX_WAITING,
      // Other processes give unspent leased units back within that time.
      ...(policy.leaseUs > 0 && { denialMs: policy.leaseUs / 1000 }),
    })
    return queue.wait(key, cost, timeoutMs, signal)
  }
}

function assertWaitable(policy: Policy): asserts policy is RatePolicy {
  assertRatePolicy(policy, 'wait')
  if (policy.blockForUs === 0) return
  const message = `wait is not available for the policy "${policy.name}", whose blockFor would block the key that waits. Use a policy without blockFor.`
  throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'policy' })
}
