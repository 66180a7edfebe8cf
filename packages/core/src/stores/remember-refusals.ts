import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { isPromise } from './guard-calls.js'
import { createRefusalMemory, type Refusal, refusedAt } from './refusal-memory.js'
import { type Limits, limitsOf } from './requests.js'
import type { MaybePromise, RefundRequest, ResetRequest, Store, TakeRequest, TakeResult } from './store.js'

export interface RememberRefusalsOptions {
  /** The longest that a refusal is remembered, in milliseconds; 0 is off. Default: 1000. */
  capMs?: number
  /** The most refusals it remembers, over all policies. Default: 100,000. */
  maxKeys?: number
  /** Takes whose refusals say nothing of the next moment and are not remembered. Default: none. */
  except?: (result: TakeResult) => boolean
  /** Milliseconds of a clock that never steps back. Default: `performance.now`, where there is one. */
  now?: () => number
}

/**
 * The same store, except that what it has refused is refused again without asking, for as long as its own
 * answer said that it would be, and at most for `capMs`. Then one check asks, and those that come meanwhile
 * wait for what it hears; if that says nothing of them, they ask. A client that keeps knocking costs the store one
 * check in that time, not one for each knock.
 *
 * In a take, one remembered refusal refuses all. Nobody is asked, and the limits of which nothing is
 * remembered have no decision.
 *
 * Such an answer can be wrong for `capMs` at most: after a reset or a refund through another store, or where a
 * policy's numbers have just changed. It is then too strict, never too generous. Its waits are those of the
 * refused cost: for a dearer one they are the least it has to wait.
 */
export function rememberRefusals(store: Store, options: RememberRefusalsOptions = {}): Store {
  const { capMs, maxKeys, except, now } = parse(options)
  if (typeof store?.check !== 'function') throw invalid('store', `store must be a Store, got ${show(store)}.`)
  if (capMs === 0) return store
  const nowUs = () => msToUs(now())
  const memory = createRefusalMemory({ capUs: msToUs(capMs), maxKeys, nowUs })

  /**
   * Nobody waits for others twice: where the waits are shorter than the way to the store, every answer has run out when
   * it comes, and those who wait would ask one by one until their deadline has passed.
   */
  function check(request: TakeRequest, mayWait: boolean): MaybePromise<Decision> {
    const atUs = nowUs()
    const { policy, key, cost } = request
    const refusal = memory.recall(request, atUs)
    if (refusal !== undefined) {
      if (atUs < refusal.untilUs) return refusedAt(refusal, cost, atUs)
      const asking = mayWait ? askingFor(refusal, cost) : undefined
      if (asking !== undefined) return asking.then(() => check({ policy, key, cost }, false))
    }
    const sent = memory.send(atUs)
    const answer = use(store.check(request), (decision) => {
      memory.learn({ policy, key, cost }, decision, sent)
    })
    if (refusal !== undefined) letOthersWait(refusal, cost, answer)
    return answer
  }

  function take(requests: readonly TakeRequest[], mayWait: boolean): MaybePromise<TakeResult> {
    const atUs = nowUs()
    const asked = limitsIfRight(requests)
    if (asked === undefined) return store.take(requests)
    const { limits, limitOfRequest } = asked
    const known = limits.map((limit) => memory.recall(limit, atUs))
    const refused = refusedTake(asked, known, atUs)
    if (refused !== undefined) return refused
    const asking = known.map((refusal, i) => refusal && askingFor(refusal, limits[i]!.cost)).find(isPromise)
    if (asking !== undefined && mayWait) {
      const same = requests.map((request) => ({ ...request }))
      return asking.then(() => take(same, false))
    }
    const sent = memory.send(atUs)
    const answer = use(store.take(requests), (result) => {
      if (except(result)) return
      for (const [i, limit] of limits.entries()) {
        const decision = result.decisions[limitOfRequest.indexOf(i)]
        if (decision !== undefined) memory.learn(limit, decision, sent)
      }
    })
    for (const [i, refusal] of known.entries()) {
      if (refusal !== undefined) letOthersWait(refusal, limits[i]!.cost, answer)
    }
    return answer
  }

  function remembered(requests: readonly TakeRequest[]): TakeResult | undefined {
    const atUs = nowUs()
    const asked = limitsIfRight(requests)
    if (asked === undefined) return undefined
    const known = asked.limits.map((limit) => memory.recall(limit, atUs))
    return refusedTake(asked, known, atUs)
  }

  /** Forgets a key before and after a call that gives it something. */
  function forgetting<T>({ policy, key }: ResetRequest, call: () => MaybePromise<T>): MaybePromise<T> {
    memory.forget(policy, key)
    const answer = call()
    // A check that was sent meanwhile may have been refused before this call came to anything.
    return isPromise(answer) ? Promise.resolve(answer).finally(() => memory.forget(policy, key)) : answer
  }

  const remembering: Store = {
    check: (request: TakeRequest) => check(request, true),
    take: (requests: readonly TakeRequest[]) => take(requests, true),
    remembered,
    peek: (request: TakeRequest) => store.peek(request),
    refund: (request: RefundRequest) => forgetting(request, () => store.refund(request)),
    reset: (request: ResetRequest) => forgetting(request, () => store.reset(request)),
    close() {
      memory.close()
      return store.close()
    },
    ...(store.alwaysAnswers && { alwaysAnswers: true }),
    ...(store.expectDeadline && { expectDeadline: (ms: number) => store.expectDeadline!(ms) }),
    ...(store.partOf && { partOf: (request: ResetRequest) => store.partOf!(request) }),
    ...(store.onReachable && { onReachable: (listener: () => void) => store.onReachable!(listener) }),
  }
  // Of one that survives failures: it is still to be seen, and tells `createLimiter` that what is asked answers with promises.
  if ('breakerState' in store) {
    Object.defineProperty(remembering, 'breakerState', { get: () => store.breakerState, enumerable: true })
  }
  return Object.freeze(remembering)
}

/** The answer on its way that will say of this cost whether it is still refused. */
function askingFor({ asking }: Refusal, cost: number): Promise<unknown> | undefined {
  return asking !== undefined && asking.cost <= cost ? asking.answer : undefined
}

/**
 * Whoever wants what has been refused until now waits for this answer, and then asks only if it was allowed, or has run out by then:
 * without this, every check of a flood that is made in one round trip would reach the store each time that a
 * refusal runs out.
 */
function letOthersWait(refusal: Refusal, cost: number, answer: MaybePromise<unknown>): void {
  if (!isPromise(answer)) return
  const asking = { cost, answer }
  refusal.asking = asking
  const answered = () => {
    if (refusal.asking === asking) refusal.asking = undefined
  }
  answer.then(answered, answered)
}

/**
 * A take of which at least one limit is refused from memory: to ask the others would cost as much as the take. Undefined
 * if none is.
 */
function refusedTake(
  { limits, limitOfRequest, costs }: Limits,
  known: readonly (Refusal | undefined)[],
  atUs: number,
): TakeResult | undefined {
  const decisions = known.map((refusal, i) =>
    refusal !== undefined && atUs < refusal.untilUs ? refusedAt(refusal, limits[i]!.cost, atUs) : undefined,
  )
  if (decisions.every((decision) => decision === undefined)) return undefined
  return {
    allowed: false,
    decisions: costs.map((cost, i) => {
      const decision = decisions[limitOfRequest[i]!]
      return decision && { ...decision, cost }
    }),
    retryAfterMs: Math.max(...decisions.map((decision) => decision?.retryAfterMs ?? 0)),
    delayMs: 0,
  }
}

/** None of a take that can never be right: the store, which would not see it here, says so in its own way. */
function limitsIfRight(requests: readonly TakeRequest[]): Limits | undefined {
  try {
    const asked = limitsOf(requests)
    for (const { key } of asked.limits) assertKey(key)
    return asked
  } catch {
    return undefined
  }
}

/** The same answer, once it has been read. */
function use<T>(answer: MaybePromise<T>, read: (value: T) => void): MaybePromise<T> {
  if (isPromise(answer)) {
    return answer.then((value) => {
      read(value)
      return value
    })
  }
  read(answer)
  return answer
}

const MAX_MAX_KEYS = 10_000_000

function parse(options: RememberRefusalsOptions): Readonly<Required<RememberRefusalsOptions>> {
  assertOptions('rememberRefusals()', options, ['capMs', 'maxKeys', 'except', 'now'])
  const { capMs = 1000, maxKeys = 100_000, except = () => false, now = defaultNow() } = options
  if (!Number.isFinite(capMs) || capMs < 0) {
    throw invalid('capMs', `capMs must be milliseconds from 0 up, got ${show(capMs)}. Leave it out for 1000.`)
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
    throw invalid(
      'maxKeys',
      `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS}, got ${show(maxKeys)}. Leave it out for 100,000.`,
    )
  }
  for (const [field, value, otherwise] of [
    ['except', except, 'to remember every take'],
    ['now', now, 'for performance.now'],
  ] as const) {
    if (typeof value === 'function') continue
    throw invalid(field, `${field} must be a function, got ${show(value)}. Leave it out ${otherwise}.`)
  }
  return Object.freeze({ capMs, maxKeys, except, now })
}

/** Wherever there is no monotonic clock, the wall clock: when it steps back, the store is asked. */
function defaultNow(): () => number {
  const { performance } = globalThis as { performance?: { now(): number } }
  return performance === undefined ? Date.now : () => performance.now()
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
