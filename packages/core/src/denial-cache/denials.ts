import { msToUs, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy/index.js'
import { assertCost, type Limit } from '../store/requests.js'

/** A denial by the store, and until when the store would repeat it. */
export interface Denial {
  readonly policy: Policy
  /** As the store returned it, with the cost of the whole limit. */
  readonly decision: Decision
  /** When the call was sent. The store decided later, so a wait counted from here ends early. */
  readonly sentUs: number
  /** When it expires from the cache. */
  readonly untilUs: number
  /** When the decision's own wait is over; later than `untilUs` if that is capped. */
  readonly waitEndsUs: number
  /** After expiry: the pending call that refreshes it, and its cost. */
  refresh?: { readonly cost: number; readonly answer: Promise<unknown> } | undefined
}

/** A call to the store. Calls are numbered in the order of sending. */
export interface Sent {
  readonly call: number
  readonly atUs: number
}

export interface DenialsOptions {
  /** The longest that a denial is cached. */
  capUs: number
  /** The most denials. */
  maxKeys: number
  /** A clock that never steps back. */
  nowUs: () => number
}

/** The denials of a store by policy name and key, in bounded memory. */
export function createDenials({ capUs, maxKeys, nowUs }: DenialsOptions) {
  const denials = new Map<string, Denial>()
  /** An iterator in insertion order, and its current entry. */
  let order = denials.entries()
  let oldest: [name: string, denial: Denial] | undefined

  /*
   * An answer to a call that was sent before its key was dropped is outdated, so the number of the last call before
   * the drop is kept; per key for a few keys, and for all keys when they become too many.
   */
  let calls = 0
  const dropped = new Map<string, number>()
  let allDropped = 0

  /**
   * Removes the oldest entries: those that are over, a few for each new one, and one that is not if the cache is full.
   * The iterator is kept because a `Map` that is repeatedly asked for its first key walks over all deleted entries
   * before it: 50 µs at 100,000 keys.
   */
  function makeRoom(atUs: number): void {
    for (let i = 0; i < REMOVED_PER_NEW; i++) {
      if (oldest === undefined || denials.get(oldest[0]) !== oldest[1]) oldest = nextOldest()
      if (oldest === undefined) return
      if (oldest[1].waitEndsUs > atUs && denials.size < maxKeys) return
      denials.delete(oldest[0])
    }
  }

  function nextOldest(): [string, Denial] | undefined {
    const next = order.next()
    if (!next.done) return next.value
    order = denials.entries()
    return order.next().value
  }

  return {
    send: (atUs: number): Sent => ({ call: ++calls, atUs }),

    isEmpty: (): boolean => denials.size === 0,

    /** The denial of the same policy numbers and of this cost or a lower one; it may have expired. */
    find({ policy, key, cost }: Limit, atUs: number): Denial | undefined {
      if (denials.size === 0) return undefined
      const name = nameOf(policy, key)
      const denial = denials.get(name)
      if (denial === undefined) return undefined
      // Sent in the future: the clock has stepped back after all, and the age is unknown.
      if (atUs < denial.sentUs) denials.delete(name)
      else if (isValid(policy, cost) && denial.decision.cost <= cost && sameNumbers(denial.policy, policy))
        return denial
      return undefined
    },

    /** Updates the cache with the store's decision on one limit. */
    learn({ policy, key, cost }: Limit, decision: Decision, sent: Sent): void {
      if (decision.degraded !== undefined || (decision.allowed && denials.size === 0)) return
      if (!decision.allowed && !isCacheable(policy, decision)) return
      const name = nameOf(policy, key)
      const denial = denials.get(name)
      if (decision.allowed && denial === undefined) return
      const atUs = nowUs()
      const isSame = denial !== undefined && sameNumbers(denial.policy, policy)
      const isOver = denial !== undefined && denial.untilUs <= atUs
      if (decision.allowed) {
        // Other numbers have rewritten the state behind the denial, or it has expired and no longer holds.
        if (!isSame || (isOver && denial.decision.cost <= cost)) denials.delete(name)
        return
      }
      if (sent.call <= allDropped || sent.call <= (dropped.get(name) ?? 0)) return
      const waitEndsUs = sent.atUs + msToUs(decision.retryAfterMs)
      // Leased units come back within that time.
      const longestUs = policy.leaseUs > 0 ? Math.min(capUs, policy.leaseUs) : capUs
      const untilUs = Math.min(waitEndsUs, sent.atUs + longestUs)
      if (isSame && !isOver) {
        // Of several calls in flight, keep the denial of the lowest cost, and for one cost the longest wait.
        if (denial.decision.cost < cost) return
        if (denial.decision.cost === cost && denial.untilUs >= untilUs) return
      }
      // Deleted first, so that it becomes the newest.
      denials.delete(name)
      makeRoom(atUs)
      denials.set(name, { policy, decision: { ...decision, cost }, sentUs: sent.atUs, untilUs, waitEndsUs })
    },

    drop(policy: Policy, key: string): void {
      const name = nameOf(policy, key)
      denials.delete(name)
      dropped.set(name, calls)
      if (dropped.size <= MAX_DROPPED) return
      dropped.clear()
      allDropped = Math.max(allDropped, calls)
    },

    /** Empties the cache for good. */
    close(): void {
      denials.clear()
      allDropped = Number.POSITIVE_INFINITY
    },
  }
}

const REMOVED_PER_NEW = 2
const MAX_DROPPED = 1000

/** A cached denial as the decision of a check at this moment. */
export function deniedAt({ decision, sentUs }: Denial, cost: number, atUs: number): Decision {
  const passedUs = atUs - sentUs
  return {
    ...decision,
    cost,
    retryAfterMs: usToMs(msToUs(decision.retryAfterMs) - passedUs),
    resetAfterMs: usToMs(Math.max(0, msToUs(decision.resetAfterMs) - passedUs)),
    timeMs: usToMs(msToUs(decision.timeMs) + passedUs),
  }
}

/** Whether the store would repeat a denial until its wait is over, and changes nothing when it does. */
function isCacheable({ algorithm, countDenied }: Policy, { reason }: Decision): boolean {
  return !countDenied && algorithm !== 'concurrency' && reason !== 'max-open' && reason !== 'slot'
}

function isValid(policy: Policy, cost: number): boolean {
  try {
    assertPolicy(policy)
    assertCost(policy, cost)
    return true
  } catch {
    return false
  }
}

/** One string for a policy's name and a key. Non-strings are rejected later by `assertKey`. */
function nameOf(policy: Policy, key: string): string {
  return typeof key === 'string' ? `${policy?.name}:${key}` : ''
}
