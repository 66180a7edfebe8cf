import { msToUs, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy.js'
import { assertCost, type Limit } from './requests.js'

/** What a store has refused, and until when it would refuse it again. */
export interface Refusal {
  readonly policy: Policy
  /** As the store gave it, with the cost of the whole limit. */
  readonly decision: Decision
  /** When the call was sent: the store decided later, so that what is counted from here ends too early. */
  readonly sentUs: number
  readonly untilUs: number
  /** Once it has run out: the call that asks anew, and with which cost. */
  asking?: { readonly cost: number; readonly answer: Promise<unknown> } | undefined
}

/** A call to the store: calls are numbered in the order in which they were sent. */
export interface Sent {
  readonly call: number
  readonly atUs: number
}

export interface RefusalMemoryOptions {
  /** The longest that a refusal is remembered. */
  capUs: number
  /** The most refusals it remembers. */
  maxKeys: number
  /** A clock that never steps back. */
  nowUs: () => number
}

/** The refusals of a store by the name of policy and key, in bounded memory, and what makes them old news. */
export function createRefusalMemory({ capUs, maxKeys, nowUs }: RefusalMemoryOptions) {
  const refusals = new Map<string, Refusal>()
  /** What comes next in the order in which they were remembered, and the one it has come to. */
  let order = refusals.entries()
  let oldest: [name: string, refusal: Refusal] | undefined

  /*
   * An answer to a call that was sent before its key was forgotten is old news, so the number of the last such
   * call is kept; for a few keys each, and where they become too many, for all.
   */
  let calls = 0
  const forgotten = new Map<string, number>()
  let allForgotten = 0

  /**
   * The oldest go: those that are over, a few for each that comes, and one that is not if there is no room.
   * The place in the order is kept, because a `Map` that is asked for its first key again and again walks
   * over all that have been deleted before it: 50 µs at 100,000 keys.
   */
  function makeRoom(atUs: number): void {
    for (let i = 0; i < DROPPED_PER_NEW; i++) {
      if (oldest === undefined || refusals.get(oldest[0]) !== oldest[1]) oldest = nextOldest()
      if (oldest === undefined) return
      if (oldest[1].untilUs > atUs && refusals.size < maxKeys) return
      refusals.delete(oldest[0])
    }
  }

  function nextOldest(): [string, Refusal] | undefined {
    const next = order.next()
    if (!next.done) return next.value
    order = refusals.entries()
    return order.next().value
  }

  return {
    send: (atUs: number): Sent => ({ call: ++calls, atUs }),

    /**
     * The refusal of this policy, by its numbers, and of this cost or a cheaper one; it may have run out. None
     * of what can never be right: the store says so in its own way, by throwing or with a promise that rejects.
     */
    recall({ policy, key, cost }: Limit, atUs: number): Refusal | undefined {
      if (refusals.size === 0) return undefined
      const name = nameOf(policy, key)
      const refusal = refusals.get(name)
      if (refusal === undefined) return undefined
      // Before it was sent: this clock has stepped back after all, and says nothing of how much has passed.
      if (atUs < refusal.sentUs) refusals.delete(name)
      else if (isRight(policy, cost) && refusal.decision.cost <= cost && sameNumbers(refusal.policy, policy))
        return refusal
      return undefined
    },

    /** Keeps what the answer to a call says of one limit, if it is a refusal of the store's own. */
    learn({ policy, key, cost }: Limit, decision: Decision, sent: Sent): void {
      if (decision.degraded !== undefined || (decision.allowed && refusals.size === 0)) return
      const name = nameOf(policy, key)
      const known = refusals.get(name)
      if (decision.allowed && known === undefined) return
      const atUs = nowUs()
      const isSame = known !== undefined && sameNumbers(known.policy, policy)
      const isOver = known !== undefined && known.untilUs <= atUs
      if (decision.allowed) {
        // Other numbers have written a state that the refusal was not made from; or it has run out, and is no more.
        if (!isSame || (isOver && known.decision.cost <= cost)) refusals.delete(name)
        return
      }
      if (sent.call <= allForgotten || sent.call <= (forgotten.get(name) ?? 0)) return
      const untilUs = sent.atUs + Math.min(msToUs(decision.retryAfterMs), capUs)
      if (isSame && !isOver) {
        // Of calls that were in flight together: the cheapest cost refuses most, and of one cost the longest.
        if (known.decision.cost < cost) return
        if (known.decision.cost === cost && known.untilUs >= untilUs) return
      }
      // Taken out first: it is the newest now.
      refusals.delete(name)
      makeRoom(atUs)
      refusals.set(name, { policy, decision: { ...decision, cost }, sentUs: sent.atUs, untilUs })
    },

    forget(policy: Policy, key: string): void {
      const name = nameOf(policy, key)
      refusals.delete(name)
      forgotten.set(name, calls)
      if (forgotten.size <= MAX_FORGOTTEN) return
      forgotten.clear()
      allForgotten = Math.max(allForgotten, calls)
    },

    /** Forgets everything, for good. */
    close(): void {
      refusals.clear()
      allForgotten = Number.POSITIVE_INFINITY
    },
  }
}

const DROPPED_PER_NEW = 2
const MAX_FORGOTTEN = 1000

/** A remembered refusal as the answer to a check at this moment. */
export function refusedAt({ decision, sentUs }: Refusal, cost: number, atUs: number): Decision {
  const passedUs = atUs - sentUs
  return {
    ...decision,
    cost,
    retryAfterMs: usToMs(msToUs(decision.retryAfterMs) - passedUs),
    resetAfterMs: usToMs(Math.max(0, msToUs(decision.resetAfterMs) - passedUs)),
    timeMs: usToMs(msToUs(decision.timeMs) + passedUs),
  }
}

function isRight(policy: Policy, cost: number): boolean {
  try {
    assertPolicy(policy)
    assertCost(policy, cost)
    return true
  } catch {
    return false
  }
}

/** One text for a policy's name and a key. What is no key has none, and no store will refuse it as one. */
function nameOf(policy: Policy, key: string): string {
  return typeof key === 'string' ? `${policy?.name}:${key}` : ''
}
