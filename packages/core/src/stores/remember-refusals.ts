import { msToUs, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertPolicy, type Policy, sameNumbers } from '../policy.js'
import { assertCost, type Limit, limitsOf, takeResult } from './requests.js'
import type { MaybePromise, RefundRequest, ResetRequest, Store, TakeRequest, TakeResult } from './store.js'

export interface RememberRefusalsOptions {
  /** The longest that a refusal is remembered, in milliseconds; 0 is off. Default: 1000. */
  capMs?: number
  /** The most refusals it remembers, over all policies. Default: 100,000. */
  maxKeys?: number
  /** Milliseconds of a clock that never steps back. Default: `performance.now`, where there is one. */
  now?: () => number
}

/**
 * The same store, except that what it has refused is refused again without asking, for as long as its own
 * answer said that it would be, and at most for `capMs`. A client that keeps knocking costs the store one
 * check in that time, not one for each knock.
 *
 * Such an answer can be wrong for `capMs` at most: after a reset or a refund through another store, or where a
 * policy's numbers have just changed. It is then too strict, never too generous. Its waits are those of the
 * refused cost: for a dearer one they are the least it has to wait.
 */
export function rememberRefusals(store: Store, options: RememberRefusalsOptions = {}): Store {
  const { capMs, maxKeys, now } = parse(options)
  if (typeof store?.check !== 'function') throw invalid('store', `store must be a Store, got ${show(store)}.`)
  if (capMs === 0) return store
  const capUs = msToUs(capMs)
  const nowUs = () => msToUs(now())

  const refusals = new Map<string, Refusal>()
  /** What comes next in the order in which they were remembered, and the one it has come to. */
  let order = refusals.entries()
  let oldest: [name: string, refusal: Refusal] | undefined

  /*
   * Calls are numbered. An answer to a call that was sent before its key was forgotten is old news, so the
   * number of the last such call is kept; for a few keys each, and where they become too many, for all.
   */
  let calls = 0
  const forgotten = new Map<string, number>()
  let allForgotten = 0

  /** The remembered refusal of this cost or a cheaper one. */
  function recall({ policy, key, cost }: TakeRequest, atUs: number): Refusal | undefined {
    const name = nameOf(policy, key)
    const refusal = refusals.get(name)
    if (refusal === undefined) return undefined
    // Before it was sent: this clock has stepped back after all, and says nothing of how much has passed.
    if (atUs >= refusal.untilUs || atUs < refusal.sentUs) {
      refusals.delete(name)
      return undefined
    }
    if (!isRight(policy, cost)) return undefined
    return refusal.decision.cost <= cost && sameNumbers(refusal.policy, policy) ? refusal : undefined
  }

  /** Keeps what the answer to a call says of one limit, if it is a refusal of the store's own. */
  function learn({ policy, key, cost }: Limit, decision: Decision, sentUs: number, call: number): void {
    if (decision.degraded !== undefined) return
    const name = nameOf(policy, key)
    const known = refusals.get(name)
    const isSame = known !== undefined && sameNumbers(known.policy, policy)
    if (decision.allowed) {
      // Other numbers have written a state that the refusal was not made from.
      if (known !== undefined && !isSame) refusals.delete(name)
      return
    }
    if (call <= allForgotten || call <= (forgotten.get(name) ?? 0)) return
    const atUs = nowUs()
    const untilUs = sentUs + Math.min(msToUs(decision.retryAfterMs), capUs)
    if (isSame && known.untilUs > atUs) {
      // Of calls that were in flight together: the cheapest cost refuses most, and of one cost the longest.
      if (known.decision.cost < cost) return
      if (known.decision.cost === cost && known.untilUs >= untilUs) return
    }
    // Taken out first: it is the newest now.
    refusals.delete(name)
    makeRoom(atUs)
    refusals.set(name, { policy, decision: { ...decision, cost }, sentUs, untilUs })
  }

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

  function forget({ policy, key }: ResetRequest): void {
    const name = nameOf(policy, key)
    refusals.delete(name)
    forgotten.set(name, calls)
    if (forgotten.size <= MAX_FORGOTTEN) return
    forgotten.clear()
    allForgotten = Math.max(allForgotten, calls)
  }

  /** Forgets a key before and after a call that gives it something. */
  function forgetting<T>(request: ResetRequest, call: () => MaybePromise<T>): MaybePromise<T> {
    forget(request)
    const answer = call()
    // A check that was sent meanwhile may have been refused before this call came to anything.
    return isPromise(answer) ? answer.finally(() => forget(request)) : answer
  }

  /**
   * A take of which at least one limit is refused from memory. The other limits are asked, but only to look:
   * every take has a decision for each of its requests, and nobody who reads one has to think of the store
   * that it came through. The price is a peek; a take whose limits are all remembered asks nothing.
   */
  function refusedTake(
    requests: readonly TakeRequest[],
    { limits, limitOfRequest }: ReturnType<typeof limitsOf>,
    known: readonly (Decision | undefined)[],
  ): MaybePromise<TakeResult> {
    const looks = limits.map((limit, i) => known[i] ?? store.peek(limit))
    const result = (decisions: readonly Decision[]) => takeResult(requests, limitOfRequest, decisions, false)
    return looks.some(isPromise) ? Promise.all(looks).then(result) : result(looks as Decision[])
  }

  return Object.freeze({
    check(request: TakeRequest) {
      const sentUs = nowUs()
      const refusal = recall(request, sentUs)
      if (refusal !== undefined) return after(refusal, request.cost, sentUs)
      const { policy, key, cost } = request
      const call = ++calls
      return use(store.check(request), (decision) => {
        learn({ policy, key, cost }, decision, sentUs, call)
        return decision
      })
    },

    take(requests: readonly TakeRequest[]) {
      const sentUs = nowUs()
      const asked = limitsIfRight(requests)
      if (asked === undefined) return store.take(requests)
      const { limits, limitOfRequest } = asked
      const known = limits.map((limit) => {
        const refusal = recall(limit, sentUs)
        return refusal && after(refusal, limit.cost, sentUs)
      })
      if (known.some((decision) => decision !== undefined)) return refusedTake(requests, asked, known)
      const call = ++calls
      return use(store.take(requests), (result) => {
        for (const [i, limit] of limits.entries()) {
          learn(limit, result.decisions[limitOfRequest.indexOf(i)]!, sentUs, call)
        }
        return result
      })
    },

    peek: (request: TakeRequest) => store.peek(request),
    refund: (request: RefundRequest) => forgetting(request, () => store.refund(request)),
    reset: (request: ResetRequest) => forgetting(request, () => store.reset(request)),

    close() {
      refusals.clear()
      allForgotten = Number.POSITIVE_INFINITY
      return store.close()
    },
  })
}

interface Refusal {
  readonly policy: Policy
  /** As the store gave it, with the cost of the whole limit. */
  readonly decision: Decision
  /** When the call was sent: the store decided later, so that what is counted from here ends too early. */
  readonly sentUs: number
  readonly untilUs: number
}

const MAX_MAX_KEYS = 10_000_000
const DROPPED_PER_NEW = 2
const MAX_FORGOTTEN = 1000

/** A remembered refusal as the answer to a check at this moment. */
function after({ decision, sentUs }: Refusal, cost: number, atUs: number): Decision {
  const passedUs = atUs - sentUs
  return {
    ...decision,
    cost,
    retryAfterMs: usToMs(msToUs(decision.retryAfterMs) - passedUs),
    resetAfterMs: usToMs(Math.max(0, msToUs(decision.resetAfterMs) - passedUs)),
    timeMs: usToMs(msToUs(decision.timeMs) + passedUs),
  }
}

/** One text for a policy's name and a key. What is no key has none, and no store will refuse it as one. */
function nameOf(policy: Policy, key: string): string {
  return typeof key === 'string' ? `${policy?.name}:${key}` : ''
}

/*
 * The store does not see what is refused from memory, so wrong input must be told from right here. It then
 * goes to the store, which says what is wrong in its own way: by throwing, or with a promise that rejects.
 * A key needs no look: a remembered one is a key, and the others of a take are looked at by the store.
 */

function isRight(policy: Policy, cost: number): boolean {
  try {
    assertPolicy(policy)
    assertCost(policy, cost)
    return true
  } catch {
    return false
  }
}

function limitsIfRight(requests: readonly TakeRequest[]): ReturnType<typeof limitsOf> | undefined {
  try {
    return limitsOf(requests)
  } catch {
    return undefined
  }
}

function isPromise<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return typeof (answer as Promise<T> | undefined)?.then === 'function'
}

function use<T>(answer: MaybePromise<T>, read: (value: T) => T): MaybePromise<T> {
  return isPromise(answer) ? answer.then(read) : read(answer)
}

function parse(options: RememberRefusalsOptions): Readonly<Required<RememberRefusalsOptions>> {
  assertOptions('rememberRefusals()', options, ['capMs', 'maxKeys', 'now'])
  const { capMs = 1000, maxKeys = 100_000, now = defaultNow() } = options
  if (!Number.isFinite(capMs) || capMs < 0) {
    throw invalid('capMs', `capMs must be milliseconds from 0 up, got ${show(capMs)}. Leave it out for 1000.`)
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
    throw invalid(
      'maxKeys',
      `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS}, got ${show(maxKeys)}. Leave it out for 100,000.`,
    )
  }
  if (typeof now !== 'function') {
    throw invalid('now', `now must be a function, got ${show(now)}. Leave it out for performance.now.`)
  }
  return Object.freeze({ capMs, maxKeys, now })
}

/** Wherever there is no monotonic clock, the wall clock: when it steps back, the store is asked. */
function defaultNow(): () => number {
  const { performance } = globalThis as { performance?: { now(): number } }
  return performance === undefined ? Date.now : () => performance.now()
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
