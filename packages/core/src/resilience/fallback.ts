import { type Clock, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import { assertPolicy, type OnStoreFailure, type Policy } from '../policy/index.js'
import type { Reserve } from '../reservations/parse-reservation.js'
import { reserveResult, withReservation } from '../reservations/reserve-results.js'
import type { ReserveResult } from '../store/full-store.js'
import { assertCharge, assertCost, type Limit, limitsOf, takeResult } from '../store/requests.js'
import type { StoreTraits, TakeRequest, TakeResult } from '../store/store.js'
import type { LocalCounts } from './local-counts.js'

/** Why a decision is made without the store: the store failed, or this process is overloaded. */
export type DegradedReason = 'failure' | 'overload'

export interface FallbackOptions {
  counts: LocalCounts
  clock: Clock
  /** How long a denied client should wait before it retries. */
  waitMs: () => number
  /** Called for each degraded decision; for a take, with the strictest mode of its limits. */
  onDegraded: (mode: OnStoreFailure, reason: DegradedReason) => void
  cachedDenial: StoreTraits['cachedDenial']
}

/**
 * Decides without the store. After a failure, each policy's `onStoreFailure` decides: `open` allows, `closed` denies,
 * `local` counts in this process. Under overload, every policy counts in this process: the store is healthy, and a flood
 * must neither allow nor deny all requests.
 *
 * A cached denial still denies, during an outage and under overload.
 */
export function createFallback({ counts, clock, waitMs, onDegraded, cachedDenial }: FallbackOptions) {
  /** The decision for a limit that is not counted. */
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

  /** Takes from these limits if the other limits allow it, else only peeks. */
  function takeLocally(limits: readonly Limit[], mayTake: boolean): ReturnType<LocalCounts['take']> {
    if (mayTake && limits.length > 0) return counts.take(limits)
    return { allowed: true, decisions: limits.map((limit) => counts.peek(limit)) }
  }

  return {
    decide(method: 'check' | 'peek', request: TakeRequest, reason: DegradedReason): Decision {
      const { policy, key, cost, id } = request
      assertPolicy(policy)
      assertCost(policy, cost)
      assertKey(key)
      const isOverloaded = reason === 'overload'
      const denial =
        method === 'check' ? cachedDenial?.([{ policy, key, cost }], isOverloaded)?.decisions[0] : undefined
      if (denial !== undefined) return denial
      const mode = modeOf(policy, reason)
      onDegraded(mode, reason)
      const decision =
        mode === 'local' ? counts[method]({ policy, key, cost, id }) : uncounted(policy, cost, mode)
      return withReason(decision, reason)
    },

    /** A charge is always allowed, but only `local` counts it. */
    charge({ policy, key, cost }: TakeRequest, reason: DegradedReason): Decision {
      assertPolicy(policy)
      assertCharge(policy, cost)
      assertKey(key)
      const mode = modeOf(policy, reason)
      onDegraded(mode, reason)
      const decision =
        mode === 'local'
          ? counts.charge({ policy, key, cost })
          : { ...uncounted(policy, cost, 'open'), degraded: mode, charged: 0, overBy: 0 }
      return withReason(decision, reason)
    },

    /** Like `take`. Only `local` reserves units in this process. The store may have executed the reserve before it failed. */
    reserve(request: Reserve, reason: DegradedReason): ReserveResult {
      const { limits, id } = request
      const denial = cachedDenial?.(
        limits.map(({ policy, key, cost }) => ({ policy, key, cost })),
        reason === 'overload',
      )
      if (denial !== undefined) return withoutReservation(denial, request)
      const modes = limits.map(({ policy }) => modeOf(policy, reason))
      const strictest = modes.reduce(stricter)
      onDegraded(strictest, reason)

      const counted = limits.filter((_, i) => modes[i] === 'local')
      const local =
        strictest !== 'closed' && counted.length > 0
          ? counts.reserve(counted, request)
          : takeLocally(counted, false)
      const allowed = local.allowed && strictest !== 'closed'
      const localDecisions = local.decisions.values()
      const decisions = limits.map((limit, i) => {
        const mode = modes[i]!
        const decision =
          mode === 'local' ? localDecisions.next().value! : uncounted(limit.policy, limit.cost, mode)
        const reserved = mode === 'local' && allowed ? limit.cost : 0
        return withReason(withReservation(decision, limit, id, reserved), reason)
      })
      return { ...reserveResult(request, decisions), allowed }
    },

    take(requests: readonly TakeRequest[], reason: DegradedReason): TakeResult {
      const parsed = limitsOf(requests)
      const { limits, limitOfRequest } = parsed
      for (const { key } of limits) assertKey(key)
      const denial = cachedDenial?.(requests, reason === 'overload')
      if (denial !== undefined) return denial
      const modes = limits.map(() => 'open' as OnStoreFailure)
      // Policies that differ only in `onStoreFailure` can belong to one limit.
      for (const [i, { policy }] of requests.entries()) {
        const limit = limitOfRequest[i]!
        modes[limit] = stricter(modes[limit]!, modeOf(policy, reason))
      }
      const strictest = modes.reduce(stricter)
      onDegraded(strictest, reason)

      const counted = limits.filter((_, i) => modes[i] === 'local')
      const local = takeLocally(counted, strictest !== 'closed')
      const localDecisions = local.decisions.values()
      const decisions = limits.map(({ policy, cost }, i) => {
        const mode = modes[i]!
        const decision = mode === 'local' ? localDecisions.next().value! : uncounted(policy, cost, mode)
        return withReason(decision, reason)
      })
      return takeResult(parsed, decisions, local.allowed && strictest !== 'closed')
    },
  }
}

/** Converts a denied take to a denied reserve. */
function withoutReservation(denial: TakeResult, { limits, id }: Reserve): ReserveResult {
  const decisions = denial.decisions.map((decision, i) => {
    return decision && withReservation(decision, limits[i]!, id, 0)
  })
  return { ...denial, id, decisions }
}

function withReason(decision: Decision, reason: DegradedReason): Decision {
  return reason === 'overload' ? { ...decision, reason } : decision
}

function modeOf({ onStoreFailure }: Policy, reason: DegradedReason): OnStoreFailure {
  return reason === 'overload' ? 'local' : onStoreFailure
}

function stricter(one: OnStoreFailure, other: OnStoreFailure): OnStoreFailure {
  return STRICTNESS[one] >= STRICTNESS[other] ? one : other
}

const STRICTNESS: Record<OnStoreFailure, number> = { open: 0, local: 1, closed: 2 }
