import { type Clock, systemClock } from '../clock.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import type { OnStoreFailure } from '../policy.js'
import { platformTimers, type Timers } from '../timers.js'
import type { BreakerState } from './breaker.js'
import { createLocalCounts } from './local-counts.js'
import type { Store, TakeRequest } from './store.js'
import { isFailureOf } from './store-failure.js'
import { type BreakerStore, withBreaker } from './with-breaker.js'
import { withDeadline } from './with-deadline.js'
import { type AnsweringStore, type DegradedReason, withDegradedAnswers } from './with-degraded-answers.js'
import { withInFlightBound } from './with-in-flight-bound.js'

export interface FailureOptions {
  /** How long a call may take, in milliseconds. Set it above the p99.9 of your network. Default: 50. */
  deadlineMs?: number
  /** How long a call may take until the store has answered for the first time. Default: 1000. */
  connectTimeoutMs?: number
  /** The most requests that may wait for the store at the same time. Default: 5,000. */
  maxInFlight?: number
  /** Told what happens. It is called in the middle of things: it should only note them. Default: nobody is. */
  onEvent?: (event: FailureEvent) => void
}

export type FailureEvent =
  /** The store is down: a breaker has opened. Or it is up again: all are closed. */
  | { readonly type: 'store'; readonly isUp: boolean; readonly error?: unknown }
  /** A breaker has changed; the part is undefined for a store that has none. */
  | { readonly type: 'breaker'; readonly state: BreakerState; readonly part: string | undefined }
  /** A call was sent and failed. */
  | { readonly type: 'call-failed'; readonly isTimeout: boolean; readonly error: unknown }
  /** An answer was given without the store. */
  | { readonly type: 'degraded'; readonly mode: OnStoreFailure; readonly reason: DegradedReason }

/** A store that answers whatever happens to the one behind it, always with promises. */
export interface SurvivingStore extends AnsweringStore {
  readonly alwaysAnswers: true
  /** Of a store in parts, the worst. */
  readonly breakerState: BreakerState
}

/**
 * The same store with a deadline, a breaker, a bound on what is in flight, and each policy's `onStoreFailure` as
 * the answer where it fails. Wrap a store once and share it: what has its own wrapping learns for itself that
 * the store is down.
 *
 * `createLimiter` does this to every store that needs it. `docs/reliability.md` says what to expect.
 */
export function surviveFailures(store: Store, options: FailureOptions = {}): SurvivingStore {
  const { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, timers, clock, random } =
    parseFailureOptions(options)
  if (typeof store?.check !== 'function') throw invalid('store', `store must be a Store, got ${show(store)}.`)

  function tell(event: FailureEvent): void {
    try {
      onEvent?.(event)
    } catch {
      // Whoever listens has a mistake in it. No request is to fail for that.
    }
  }

  const plain = store.plain ?? store
  const inTime = withDeadline(plain, { deadlineMs, connectTimeoutMs, timers })
  const breaker: BreakerStore = withBreaker(inTime, {
    timers,
    random,
    onChange({ state, part, error }) {
      tell({ type: 'breaker', state, part })
      setUp(breaker.breakerState === 'closed', error)
    },
    onFailure(error) {
      tell({ type: 'call-failed', isTimeout: isTimeout(error), error })
    },
  })
  const waitMs = () => Math.max(SHORTEST_WAIT_MS, Math.ceil(breaker.breakerWaitMs()))
  const counts = createLocalCounts({ clock, now: timers.now, waitMs })

  let isUp = true
  function setUp(isUpNow: boolean, error: unknown): void {
    if (isUpNow === isUp) return
    isUp = isUpNow
    if (isUp) counts.outageEnded()
    else counts.outageBegan()
    tell(isUp ? { type: 'store', isUp } : { type: 'store', isUp, error })
  }

  const answering = withDegradedAnswers(withInFlightBound(breaker, { maxInFlight }), {
    counts,
    clock,
    waitMs,
    onDegraded(mode, reason) {
      if (onEvent !== undefined) tell({ type: 'degraded', mode, reason })
    },
    ...(plain.remembered && {
      remembered: (requests: readonly TakeRequest[]) => plain.remembered!(requests),
    }),
  })

  return Object.freeze({
    ...answering,
    alwaysAnswers: true as const,
    get breakerState() {
      return breaker.breakerState
    },
  })
}

/** What no wait is shorter than: in HTTP it is said in seconds. */
const SHORTEST_WAIT_MS = 1000
const LONGEST_DEADLINE_MS = 60_000
const MOST_IN_FLIGHT = 1_000_000

function isTimeout(error: unknown): boolean {
  return isFailureOf(error, 'timeout') || isFailureOf(error, 'timeout-of-busy-process')
}

/** For tests, and not among the public options: where time and chance come from. */
interface Circumstances {
  timers?: Timers
  clock?: Clock
  random?: () => number
}

/** The options with their defaults; refuses those that are wrong. */
export function parseFailureOptions(options: FailureOptions) {
  assertOptions('surviveFailures()', options, ['deadlineMs', 'connectTimeoutMs', 'maxInFlight', 'onEvent'])
  const { deadlineMs = 50, connectTimeoutMs = 1000, maxInFlight = 5000, onEvent } = options
  for (const [field, value, max, otherwise] of [
    ['deadlineMs', deadlineMs, LONGEST_DEADLINE_MS, 50],
    ['connectTimeoutMs', connectTimeoutMs, LONGEST_DEADLINE_MS, 1000],
    ['maxInFlight', maxInFlight, MOST_IN_FLIGHT, 5000],
  ] as const) {
    if (Number.isInteger(value) && value >= 1 && value <= max) continue
    throw invalid(
      field,
      `${field} must be a whole number from 1 to ${max.toLocaleString('en')}, got ${show(value)}. Leave it out for ${otherwise}.`,
    )
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw invalid(
      'onEvent',
      `onEvent must be a function, got ${show(onEvent)}. Leave it out to hear nothing.`,
    )
  }
  const {
    timers = platformTimers,
    clock = systemClock,
    random = Math.random,
  } = (options as { [CIRCUMSTANCES]?: Circumstances })[CIRCUMSTANCES] ?? {}
  return { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, timers, clock, random }
}

/** The door for tests. */
export const CIRCUMSTANCES = Symbol('circumstances')

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
