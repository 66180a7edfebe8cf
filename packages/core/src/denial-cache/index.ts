import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show } from '../errors.js'
import { assertKey } from '../key.js'
import { numberOption, optionInvalid } from '../options.js'
import { assertStore } from '../store/assert-store.js'
import type { FullStore } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { type Limits, limitsOf, takeResult } from '../store/requests.js'
import {
  type Call,
  isPromise,
  type MaybePromise,
  type ResetRequest,
  type Store,
  type TakeRequest,
  type TakeResult,
} from '../store/store.js'
import { createReserving } from './cached-reservations.js'
import { createDenials, type Denial, deniedAt } from './denials.js'

/** A store with a denial cache. Operations that the wrapped store lacks throw `OPERATION_UNSUPPORTED`. */
export interface DenialCachingStore
  extends Store,
    Pick<FullStore, 'charge' | 'block' | 'takeUpTo' | 'release' | 'renew'>,
    ReturnType<typeof createReserving> {}

/** Options of `withDenialCache`. */
export interface DenialCacheOptions {
  /** The maximum time that a denial is cached, in milliseconds; 0 disables the cache. Default: 1000. */
  capMs?: number
  /** The maximum number of cached denials, over all policies. Default: 100,000. */
  maxKeys?: number
  /** Returns true for takes whose denials must not be cached. Default: all denials are cached. */
  except?: (result: TakeResult) => boolean
  /** A monotonic clock in milliseconds. Default: `performance.now` where it exists, else `Date.now`. */
  now?: () => number
}

/**
 * Caches the denials of a store. A denied key is denied again without a call until its wait ends, but at most for `capMs`.
 * Then one check calls the store, and other checks of the key wait for its result. So a client that keeps retrying costs
 * the store one check per `capMs`. `RedisStore` has this cache built in.
 *
 * In a take, one cached denial denies the whole take: the store is not called, and limits without a cached denial have
 * no decision.
 *
 * Denials are not cached for policies with `countDenied`, because the store charges them, nor for missing slots and too
 * many open reservations, because these can end at any time.
 *
 * A cached denial can be outdated for at most `capMs`, after a reset, a refund or a change of the policy's numbers through
 * another store. It is then too strict, never too lenient. Its waits are those of the denied cost, and a lower bound for a
 * higher cost.
 *
 * @example
 * ```ts
 * const store = withDenialCache(remoteStore, { capMs: 500 })
 * ```
 */
export function withDenialCache(store: Store, options: DenialCacheOptions = {}): DenialCachingStore {
  const { capMs, maxKeys, except, now } = parse(options)
  assertStore(store, 'withDenialCache')
  if (capMs === 0) return store as DenialCachingStore
  const nowUs = () => msToUs(now())
  const denials = createDenials({ capUs: msToUs(capMs), maxKeys, nowUs })

  /**
   * A check waits for another one only once. If waits are shorter than the round trip, every result has expired on arrival,
   * and waiting checks would otherwise call the store one by one until their deadline.
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

  /** Drops the denial of a key before and after a call that can lift it. */
  function dropping<T>({ policy, key }: ResetRequest, send: () => MaybePromise<T>): MaybePromise<T> {
    denials.drop(policy, key)
    const answer = send()
    // A check sent in the meantime may have been denied before this call took effect.
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

/** The pending call whose result shows whether this cost is still denied, if there is one. */
function refreshOf({ refresh }: Denial, cost: number): Promise<unknown> | undefined {
  return refresh !== undefined && refresh.cost <= cost ? refresh.answer : undefined
}

/**
 * Lets checks of an expired denial wait for this call, and call the store themselves only if its result does not decide
 * them. Otherwise every check of a flood within one round trip would reach the store whenever a denial expires.
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

/** The denied take, if at least one limit has a valid denial at this time. */
function deniedTake(
  parsed: Limits,
  denials: readonly (Denial | undefined)[],
  atUs: number,
  endOf: (denial: Denial) => number,
): TakeResult | undefined {
  const decisions = denials.map((denial, i) =>
    denial !== undefined && atUs < endOf(denial) ? deniedAt(denial, parsed.limits[i]!.cost, atUs) : undefined,
  )
  if (decisions.every((decision) => decision === undefined)) return undefined
  return takeResult(parsed, decisions, false)
}

/** Returns undefined for an invalid take, which the store then rejects. */
function validLimitsOf(requests: readonly TakeRequest[]): Limits | undefined {
  try {
    const parsed = limitsOf(requests)
    for (const { key } of parsed.limits) assertKey(key)
    return parsed
  } catch {
    return undefined
  }
}

/** Calls `read` with the result, and returns the result. */
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
