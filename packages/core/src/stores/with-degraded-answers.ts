import { type Clock, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import { assertPolicy, type OnStoreFailure, type Policy } from '../policy.js'
import type { LocalCounts } from './local-counts.js'
import { assertCost, assertRefund, type Limit, limitsOf, takeResult } from './requests.js'
import type { RefundRequest, ResetRequest, Store, TakeRequest, TakeResult } from './store.js'
import { isFailureOf, isStoreFailure, storeClosed } from './store-failure.js'

/** Why an answer had to be given without the store: it failed, or too much is in flight to ask it. */
export type DegradedReason = 'failure' | 'overload'

export interface DegradedAnswersOptions {
  counts: LocalCounts
  clock: Clock
  /** How long who is refused should wait before asking again. */
  waitMs: () => number
  /** Told of each such answer; of a take, the strictest of its limits' ways. */
  onDegraded: (mode: OnStoreFailure, reason: DegradedReason) => void
  /** What the store has refused, and would refuse again: see `Store`. */
  remembered?: Store['remembered']
}

/** A store that answers, always with promises: a caller must not find a plain value only when things go wrong. */
export interface AnsweringStore extends Store {
  check(request: TakeRequest): Promise<Decision>
  take(requests: readonly TakeRequest[]): Promise<TakeResult>
  peek(request: TakeRequest): Promise<Decision>
  refund(request: RefundRequest): Promise<number>
  reset(request: ResetRequest): Promise<void>
  close(): Promise<void>
}

/**
 * The same store, except that where it fails each policy's `onStoreFailure` answers: `open` lets through,
 * `closed` refuses, `local` counts in this process. Of the limits of a take each answers in its own way, so
 * that the strictest decides.
 *
 * What the store has refused a moment ago and is still remembered stays refused: neither an outage nor a flood is a
 * way out of it.
 *
 * Too much in flight is not a failed store: then `open` counts in this process too, or a flood would open the
 * gate.
 *
 * Wrong input is refused as ever, and so is what comes after `close`. A refund that fails gives 0 and is not
 * repeated. A reset that fails rejects: whoever asked for it must know that it did not happen.
 */
export function withDegradedAnswers(store: Store, options: DegradedAnswersOptions): AnsweringStore {
  const { counts, clock, waitMs, onDegraded, remembered } = options
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw storeClosed()
  }

  /** The answer for one limit that is not counted. */
  function uncounted(policy: Policy, cost: number, mode: 'open' | 'closed'): Decision {
    const allowed = mode === 'open'
    return {
      allowed,
      limit: policy.limit,
      cost,
      remaining: 0,
      retryAfterMs: allowed ? 0 : waitMs(),
      resetAfterMs: 0,
      delayMs: 0,
      timeMs: usToMs(clock.nowUs()),
      policy: policy.name,
      degraded: mode,
    }
  }

  function answerOne(method: 'check' | 'peek', { policy, key, cost }: TakeRequest, error: unknown): Decision {
    const reason = reasonOf(error)
    assertPolicy(policy)
    assertCost(policy, cost)
    assertKey(key)
    const refusal = method === 'check' ? remembered?.([{ policy, key, cost }])?.decisions[0] : undefined
    if (refusal !== undefined) return refusal
    const mode = modeOf(policy, reason)
    onDegraded(mode, reason)
    return mode === 'local' ? counts[method]({ policy, key, cost }) : uncounted(policy, cost, mode)
  }

  function answerTake(requests: readonly TakeRequest[], error: unknown): TakeResult {
    const reason = reasonOf(error)
    const asked = limitsOf(requests)
    const { limits, limitOfRequest } = asked
    for (const { key } of limits) assertKey(key)
    const refusal = remembered?.(requests)
    if (refusal !== undefined) return refusal
    const modes = limits.map(() => 'open' as OnStoreFailure)
    // One limit may be named by several policies that differ only in this.
    for (const [i, { policy }] of requests.entries()) {
      const limit = limitOfRequest[i]!
      modes[limit] = stricter(modes[limit]!, modeOf(policy, reason))
    }
    const strictest = modes.reduce(stricter)
    onDegraded(strictest, reason)

    const counted = limits.filter((_, i) => modes[i] === 'local')
    const local = takeLocally(counted, strictest !== 'closed')
    const found = local.decisions.values()
    const decisions = limits.map(({ policy, cost }, i) => {
      const mode = modes[i]!
      return mode === 'local' ? found.next().value! : uncounted(policy, cost, mode)
    })
    return takeResult(asked, decisions, local.allowed && strictest !== 'closed')
  }

  /** Takes if all else allows it; otherwise it only looks. */
  function takeLocally(limits: readonly Limit[], mayTake: boolean): ReturnType<LocalCounts['take']> {
    if (mayTake && limits.length > 0) return counts.take(limits)
    return { allowed: true, decisions: limits.map((limit) => counts.peek(limit)) }
  }

  return {
    async check(request) {
      assertOpen()
      // Whoever made the request may use it for the next while the store is asked.
      const { policy, key, cost } = request
      try {
        return await store.check(request)
      } catch (error) {
        return answerOne('check', { policy, key, cost }, error)
      }
    },

    async take(requests) {
      assertOpen()
      // Whoever made the list may change it while the store is asked.
      const same = Array.isArray(requests) ? requests.map(copyOf) : requests
      try {
        return await store.take(requests)
      } catch (error) {
        return answerTake(same, error)
      }
    },

    async peek(request) {
      assertOpen()
      // Whoever made the request may use it for the next while the store is asked.
      const { policy, key, cost } = request
      try {
        return await store.peek(request)
      } catch (error) {
        return answerOne('peek', { policy, key, cost }, error)
      }
    },

    async refund(request) {
      assertOpen()
      if (request.degraded !== undefined) {
        assertRefund(request)
        return request.degraded === 'local' ? counts.refund(request) : 0
      }
      try {
        return await store.refund(request)
      } catch (error) {
        reasonOf(error)
        assertRefund(request)
        return 0
      }
    },

    async reset(request) {
      assertOpen()
      assertPolicy(request.policy)
      assertKey(request.key)
      counts.reset(request)
      await store.reset(request)
    },

    async close() {
      isClosed = true
      await store.close()
    },
  }
}

function copyOf<T>(request: T): T {
  return request instanceof Object ? { ...request } : request
}

/** Throws what is not for us to answer: wrong input, and that the store is closed. */
function reasonOf(error: unknown): DegradedReason {
  if (!isStoreFailure(error)) throw error
  return isFailureOf(error, 'too-many-in-flight') ? 'overload' : 'failure'
}

function modeOf({ onStoreFailure }: Policy, reason: DegradedReason): OnStoreFailure {
  return reason === 'overload' && onStoreFailure === 'open' ? 'local' : onStoreFailure
}

function stricter(one: OnStoreFailure, other: OnStoreFailure): OnStoreFailure {
  return STRICTNESS[one] >= STRICTNESS[other] ? one : other
}

const STRICTNESS: Record<OnStoreFailure, number> = { open: 0, local: 1, closed: 2 }
