import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show } from '../errors.js'
import { assertKey } from '../key.js'
import { numberOption, optionInvalid } from '../options.js'
import { assertOperation } from '../store/operations.js'
import { type Limits, limitsOf } from '../store/requests.js'
import {
  type Call,
  type FullStore,
  isPromise,
  type MaybePromise,
  type ResetRequest,
  type Store,
  type TakeRequest,
  type TakeResult,
} from '../store/store.js'
import { createReserving } from './cached-reservations.js'
import { createDenials, type Denial, deniedAt } from './denials.js'

/** A store with a denial cache. Operations that the store inside lacks throw `OPERATION_UNSUPPORTED`. */
export interface DenialCachingStore
  extends Store,
    Pick<FullStore, 'charge' | 'block' | 'takeUpTo' | 'release' | 'renew'>,
    ReturnType<typeof createReserving> {}

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
 * Denials under a policy with `countDenied` are not cached, because the store charges them. Denials for lack of a slot, or
 * because of too many open reservations, are not cached either: a slot or a reservation can end at any time.
 *
 * A cached denial can be wrong for at most `capMs`: after a reset or refund through another store, or a change of the
 * policy's numbers. It is then too strict, never too generous. Its waits are those of the denied cost: for a higher
 * cost they are a lower bound.
 */
export function withDenialCache(store: Store, options: DenialCacheOptions = {}): DenialCachingStore {
  const { capMs, maxKeys, except, now } = parse(options)
  if (typeof store?.check !== 'function')
    throw optionInvalid('store', `store must be a Store, got ${show(store)}.`)
  if (capMs === 0) return store as DenialCachingStore
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
    const parsed = validLimitsOf(requests)
    if (parsed === undefined) return store.take(requests, call)
    const { limits, limitOfRequest } = parsed
    const found = limits.map((limit) => denials.find(limit, atUs))
    const denied = deniedTake(parsed, found, atUs, ({ untilUs }) => untilUs)
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
    const parsed = validLimitsOf(requests)
    if (parsed === undefined) return undefined
    const found = parsed.limits.map((limit) => denials.find(limit, atUs))
    return deniedTake(parsed, found, atUs, ({ untilUs, waitEndsUs }) => (isOverloaded ? waitEndsUs : untilUs))
  }

  /** Drops a key before and after a call that changes how it is denied. */
  function dropping<T>({ policy, key }: ResetRequest, send: () => MaybePromise<T>): MaybePromise<T> {
    denials.drop(policy, key)
    const answer = send()
    // A check that was sent meanwhile may have been denied before this call took effect.
    return isPromise(answer) ? Promise.resolve(answer).finally(() => denials.drop(policy, key)) : answer
  }

  return Object.freeze({
    ...createReserving(store, { denials, nowUs, except }),
    traits: { ...store.traits, cachedDenial },
    check: (request, call) => check(request, call, true),
    take: (requests, call) => take(requests, call, true),
    peek: (request, call) => store.peek(request, call),
    refund: (request, call) => dropping(request, () => store.refund(request, call)),
    charge(request, call) {
      assertOperation(store, 'charge')
      return dropping(request, () => store.charge(request, call))
    },
    takeUpTo(request, call) {
      assertOperation(store, 'takeUpTo')
      const { policy, key, min } = request
      const limit = { policy, key, cost: min }
      const atUs = nowUs()
      const denial = denials.find(limit, atUs)
      if (denial !== undefined && atUs < denial.untilUs) {
        return { taken: 0, decision: deniedAt(denial, min, atUs), windowEndMs: undefined }
      }
      const sent = denials.send(atUs)
      return tap(store.takeUpTo(request, call), ({ taken, decision }) => {
        denials.learn(taken > 0 ? { ...limit, cost: taken } : limit, decision, sent)
      })
    },
    block(request, call) {
      assertOperation(store, 'block')
      return dropping(request, () => store.block(request, call))
    },
    reset: (request, call) => dropping(request, () => store.reset(request, call)),
    release(slots, call) {
      assertOperation(store, 'release')
      return store.release(slots, call)
    },
    renew(slots, call) {
      assertOperation(store, 'renew')
      return store.renew(slots, call)
    },
    close() {
      denials.close()
      return store.close()
    },
  } satisfies DenialCachingStore)
}

/** The pending call whose result shows whether this cost is still denied. */
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
    const parsed = limitsOf(requests)
    for (const { key } of parsed.limits) assertKey(key)
    return parsed
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
/** 366 days: no window is longer. */
const MAX_CAP_MS = 31_622_400_000

function parse(options: DenialCacheOptions): Readonly<Required<DenialCacheOptions>> {
  assertOptions('withDenialCache()', options, ['capMs', 'maxKeys', 'except', 'now'])
  const { except = () => false, now = defaultNow() } = options
  const capMs = numberOption('capMs', options.capMs, { from: 0, to: MAX_CAP_MS, otherwise: 1000 })
  const maxKeys = numberOption('maxKeys', options.maxKeys, {
    from: 1,
    to: MAX_MAX_KEYS,
    isWhole: true,
    otherwise: 100_000,
  })
  for (const [field, value, otherwise] of [
    ['except', except, 'to cache every denial'],
    ['now', now, 'for performance.now'],
  ] as const) {
    if (typeof value === 'function') continue
    throw optionInvalid(field, `${field} must be a function, got ${show(value)}. Leave it out ${otherwise}.`)
  }
  return Object.freeze({ capMs, maxKeys, except, now })
}

/** The wall clock on runtimes without a monotonic clock: when it steps back, the store is called. */
function defaultNow(): () => number {
  const { performance } = globalThis as { performance?: { now(): number } }
  return performance === undefined ? Date.now : () => performance.now()
}
