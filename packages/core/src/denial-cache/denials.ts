import { msToUs, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy/index.js'
import { assertCost, type Limit } from '../store/requests.js'

/** A cached denial of the store. */
export interface Denial {
  readonly policy: Policy
  /** The store's decision, with the total cost of the limit. */
  readonly decision: Decision
  /** When the call was sent. The store decided later, so a wait counted from this time is never too long. */
  readonly sentUs: number
  /** When it expires from the cache. */
  readonly untilUs: number
  /** When the decision's wait ends; later than `untilUs` if the cache time is capped. */
  readonly waitEndsUs: number
  /** After expiry: the pending call that refreshes it, and its cost. */
  refresh?: { readonly cost: number; readonly answer: Promise<unknown> } | undefined
}

/** A call to the store. Calls are numbered in the order of sending. */
export interface SentCall {
  readonly call: number
  readonly atUs: number
}

export interface DenialsOptions {
  /** The maximum time that a denial is cached. */
  capUs: number
  /** The maximum number of denials. */
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
   * The result of a call that was sent before its key was dropped is outdated. So the number of the last call before
   * the drop is kept: per key for a limited number of keys, and beyond that for all keys together.
   */
  let calls = 0
  const dropped = new Map<string, number>()
  let allDropped = 0

  /**
   * Removes the oldest entries: up to two expired ones for each new entry, and one valid entry if the cache is full.
   * The iterator is reused because a new `Map` iterator first walks over all deleted entries: 50 µs at 100,000 keys.
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
    send: (atUs: number): SentCall => ({ call: ++calls, atUs }),

    isEmpty: (): boolean => denials.size === 0,

    /** Finds a denial of the same policy numbers and of the same or a lower cost. It may have expired. */
    find({ policy, key, cost }: Limit, atUs: number): Denial | undefined {
      if (denials.size === 0) return undefined
      const name = nameOf(policy, key)
      const denial = denials.get(name)
      if (denial === undefined) return undefined
      // Sent in the future: the clock has stepped back, so the age is unknown.
      if (atUs < denial.sentUs) denials.delete(name)
      else if (isValid(policy, cost) && denial.decision.cost <= cost && sameNumbers(denial.policy, policy))
        return denial
      return undefined
    },

    /** Updates the cache with the store's decision on one limit. */
    learn({ policy, key, cost }: Limit, decision: Decision, sent: SentCall): void {
      if (decision.degraded !== undefined || (decision.allowed && denials.size === 0)) return
      if (!decision.allowed && !isCacheable(policy, decision)) return
      const name = nameOf(policy, key)
      const denial = denials.get(name)
      if (decision.allowed && denial === undefined) return
      const atUs = nowUs()
      const isSame = denial !== undefined && sameNumbers(denial.policy, policy)
      const isOver = denial !== undefined && denial.untilUs <= atUs
      if (decision.allowed) {
        // The state was rewritten with other numbers, or the denial has expired and is refuted by this decision.
        if (!isSame || (isOver && denial.decision.cost <= cost)) denials.delete(name)
        return
      }
      if (sent.call <= allDropped || sent.call <= (dropped.get(name) ?? 0)) return
      const waitEndsUs = sent.atUs + msToUs(decision.retryAfterMs)
      // Unspent leased units are given back within that time.
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

    /** Empties and disables the cache. */
    close(): void {
      denials.clear()
      allDropped = Number.POSITIVE_INFINITY
    },
  }
}

const REMOVED_PER_NEW = 2
const MAX_DROPPED = 1000

/** Converts a cached denial to the decision of a check at this time. */
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

/** Whether the store would repeat the denial until its wait ends, without changing state. */
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

/** Joins a policy's name and a key. Non-strings are rejected later by `assertKey`. */
function nameOf(policy: Policy, key: string): string {
  return typeof key === 'string' ? `${policy?.name}:${key}` : ''
}
