import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { type Limits, limitsOf } from '../store/requests.js'
import {
  type Call,
  isPromise,
  type MaybePromise,
  type ResetRequest,
  type Store,
  type TakeRequest,
  type TakeResult,
} from '../store/store.js'
import { createDenials, type Denial, deniedAt } from './denials.js'

export interface DenialCacheOptions {
  /** The longest that a denial is cached, in milliseconds; 0 turns the cache off. Default: 1000. */
  capMs?: number
  /** The most denials it holds, over all policies. Default: 100,000. */
  maxKeys?: number
  /** Takes whose denials are not cached. Default: none. */
  except?: (result: TakeResult) => boolean
  /** Milliseconds of a clock that never steps back. Default: `performance.now`, where there is one. */
  now?: () => number
}

/**
 * Caches denials of a store: a denied key is denied again without a call, for as long as the decision's own wait, and
 * at most for `capMs`. Then one check calls the store, and others that arrive meanwhile wait for its result. A client
 * that keeps trying costs the store one check in that time.
 *
 * In a take, one cached denial denies all. The store is not called, and the limits without a cached denial have no
 * decision.
 *
 * A cached denial can be wrong for at most `capMs`: after a reset or refund through another store, or a change of the
 * policy's numbers. It is then too strict, never too generous. Its waits are those of the denied cost: for a higher
 * cost they are a lower bound.
 */
export function withDenialCache(store: Store, options: DenialCacheOptions = {}): Store {
  const { capMs, maxKeys, except, now } = parse(options)
  if (typeof store?.check !== 'function') throw invalid('store', `store must be a Store, got ${show(store)}.`)
  if (capMs === 0) return store
  const nowUs = () => msToUs(now())
  const denials = createDenials({ capUs: msToUs(capMs), maxKeys, nowUs })

  /**
   * A check waits for others only once: where waits are shorter than the round trip, every result has expired when it
   * arrives, and the waiting checks would call the store one by one until their deadline.
   */
  function check(request: TakeRequest, call: Call | undefined, mayWait: boolean): MaybePromise<Decision> {
    const atUs = nowUs()
    const { policy, key, cost } = request
    const denial = denials.find(request, atUs)
    if (denial !== undefined) {
      if (atUs < denial.untilUs) return deniedAt(denial, cost, atUs)
      const refreshing = mayWait ? refreshOf(denial, cost) : undefined
      if (refreshing !== undefined) {
        const again = () => check({ policy, key, cost }, call, false)
        return refreshing.then(again, again)
      }
    }
    const sent = denials.send(atUs)
    const answer = tap(store.check(request, call), (decision) => {
      denials.learn({ policy, key, cost }, decision, sent)
    })
    if (denial !== undefined) letOthersWait(denial, cost, answer)
    return answer
  }

  function take(
    requests: readonly TakeRequest[],
    call: Call | undefined,
    mayWait: boolean,
  ): MaybePromise<TakeResult> {
    const atUs = nowUs()
    const asked = validLimitsOf(requests)
    if (asked === undefined) return store.take(requests, call)
    const { limits, limitOfRequest } = asked
    const found = limits.map((limit) => denials.find(limit, atUs))
    const denied = deniedTake(asked, found, atUs, ({ untilUs }) => untilUs)
    if (denied !== undefined) return denied
    const refreshing = found.map((denial, i) => denial && refreshOf(denial, limits[i]!.cost)).find(isPromise)
    if (refreshing !== undefined && mayWait) {
      const copies = requests.map((request) => ({ ...request }))
      const again = () => take(copies, call, false)
      return refreshing.then(again, again)
    }
    const sent = denials.send(atUs)
    const answer = tap(store.take(requests, call), (result) => {
      if (except(result)) return
      for (const [i, limit] of limits.entries()) {
        const decision = result.decisions[limitOfRequest.indexOf(i)]
        if (decision !== undefined) denials.learn(limit, decision, sent)
      }
    })
    for (const [i, denial] of found.entries()) {
      if (denial !== undefined) letOthersWait(denial, limits[i]!.cost, answer)
    }
    return answer
  }

  function cachedDenial(requests: readonly TakeRequest[], isOverloaded: boolean): TakeResult | undefined {
    if (denials.isEmpty()) return undefined
    const atUs = nowUs()
    const asked = validLimitsOf(requests)
    if (asked === undefined) return undefined
    const found = asked.limits.map((limit) => denials.find(limit, atUs))
    return deniedTake(asked, found, atUs, ({ untilUs, waitEndsUs }) => (isOverloaded ? waitEndsUs : untilUs))
  }

  /** Drops a key before and after a call that gives it units. */
  function dropping<T>({ policy, key }: ResetRequest, send: () => MaybePromise<T>): MaybePromise<T> {
    denials.drop(policy, key)
    const answer = send()
    // A check that was sent meanwhile may have been denied before this call took effect.
    return isPromise(answer) ? Promise.resolve(answer).finally(() => denials.drop(policy, key)) : answer
  }

  return Object.freeze({
    traits: { ...store.traits, cachedDenial },
    check: (request, call) => check(request, call, true),
    take: (requests, call) => take(requests, call, true),
    peek: (request, call) => store.peek(request, call),
    refund: (request, call) => dropping(request, () => store.refund(request, call)),
    reset: (request, call) => dropping(request, () => store.reset(request, call)),
    close() {
      denials.close()
      return store.close()
    },
  } satisfies Store)
}

/** The pending call whose result tells whether this cost is still denied. */
function refreshOf({ refresh }: Denial, cost: number): Promise<unknown> | undefined {
  return refresh !== undefined && refresh.cost <= cost ? refresh.answer : undefined
}

/**
 * Checks of an expired denial wait for this answer, and call the store only if it does not settle them. Without this,
 * every check of a flood made within one round trip would reach the store each time that a denial expires.
 */
function letOthersWait(denial: Denial, cost: number, answer: MaybePromise<unknown>): void {
  if (!isPromise(answer)) return
  const refresh = { cost, answer }
  denial.refresh = refresh
  const end = () => {
    if (denial.refresh === refresh) denial.refresh = undefined
  }
  answer.then(end, end)
}

/** The denied take if at least one limit has a denial that is valid at this moment. */
function deniedTake(
  { limits, limitOfRequest, costs }: Limits,
  found: readonly (Denial | undefined)[],
  atUs: number,
  endOf: (denial: Denial) => number,
): TakeResult | undefined {
  const decisions = found.map((denial, i) =>
    denial !== undefined && atUs < endOf(denial) ? deniedAt(denial, limits[i]!.cost, atUs) : undefined,
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

/** Undefined for an invalid take: the store rejects it in its own way. */
function validLimitsOf(requests: readonly TakeRequest[]): Limits | undefined {
  try {
    const asked = limitsOf(requests)
    for (const { key } of asked.limits) assertKey(key)
    return asked
  } catch {
    return undefined
  }
}

/** The same answer, after `read` has seen it. */
function tap<T>(answer: MaybePromise<T>, read: (value: T) => void): MaybePromise<T> {
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

function parse(options: DenialCacheOptions): Readonly<Required<DenialCacheOptions>> {
  assertOptions('withDenialCache()', options, ['capMs', 'maxKeys', 'except', 'now'])
  const { capMs = 1000, maxKeys = 100_000, except = () => false, now = defaultNow() } = options
  if (!Number.isFinite(capMs) || capMs < 0) {
    throw invalid('capMs', `capMs must be milliseconds from 0 up, got ${show(capMs)}. The default is 1000.`)
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
    throw invalid(
      'maxKeys',
      `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS}, got ${show(maxKeys)}. The default is 100,000.`,
    )
  }
  for (const [field, value, otherwise] of [
    ['except', except, 'to cache every denial'],
    ['now', now, 'for performance.now'],
  ] as const) {
    if (typeof value === 'function') continue
    throw invalid(field, `${field} must be a function, got ${show(value)}. Leave it out ${otherwise}.`)
  }
  return Object.freeze({ capMs, maxKeys, except, now })
}

/** The wall clock where there is no monotonic clock: when it steps back, the store is called. */
function defaultNow(): () => number {
  const { performance } = globalThis as { performance?: { now(): number } }
  return performance === undefined ? Date.now : () => performance.now()
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
