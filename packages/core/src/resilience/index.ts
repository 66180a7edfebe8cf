import { type Clock, systemClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy } from '../policy.js'
import { assertRefund } from '../store/requests.js'
import {
  type AsyncStore,
  type Call,
  isPromise,
  type MaybePromise,
  type RefundRequest,
  type ResetRequest,
  type Store,
  type StoreTraits,
  type TakeRequest,
  type TakeResult,
} from '../store/store.js'
import { isFailureOf, isStoreFailure, storeClosed, storeFailed } from '../store/store-error.js'
import { platformTimers, type Timers } from '../timers.js'
import { type BreakerState, type Circuit, NO_PERMIT } from './breaker.js'
import { createOverloadState, createStarvationState } from './changes.js'
import { createDeadlines } from './deadlines.js'
import { createEventLoopTime, eventLoopTime } from './event-loop-time.js'
import type { FailureEvent } from './events.js'
import { createFallback, type DegradedReason } from './fallback.js'
import { createLocalCounts } from './local-counts.js'
import { createBreakers } from './part-breakers.js'
import { warnOfListener, warnOnChange } from './warnings.js'

export interface FailureOptions {
  /** How long the store may take to answer, in milliseconds. Set it above the p99.9 of your network. Default: 50. */
  deadlineMs?: number
  /**
   * How long a call may wait for a first connection, or in this process's own queue, in milliseconds. Default: 1000.
   */
  connectTimeoutMs?: number
  /** The most requests that may wait for the store at once; the excess is counted in this process. Default: 5,000. */
  maxInFlight?: number
  /** Receives every event, synchronously. Default: changes are printed as process warnings. */
  onEvent?: (event: FailureEvent) => void
}

/** A store that always decides, whatever happens to the one behind it. */
export interface ResilientStore extends AsyncStore {
  readonly traits: StoreTraits & { readonly kind: 'guarded' }
  /** For a store in parts, the worst state. */
  readonly breakerState: BreakerState
  close(): Promise<void>
}

/**
 * Puts a deadline, a circuit breaker, a bound on calls in flight and each policy's `onStoreFailure` around a store.
 * Wrap a store once and share the result: each wrapper has its own circuit breaker.
 *
 * Only a call that was sent and failed, or a missing connection, is evidence against the store. A queue in this
 * process, a blocked event loop and a CPU quota are not: such calls wait longer, up to `connectTimeoutMs`, and are
 * then counted in this process.
 *
 * `createLimiter` does this to every store that needs it. `docs/reliability.md` says what to expect.
 */
export function withFallback(store: Store, options: FailureOptions = {}): ResilientStore {
  const { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, timers, loop, clock, random } =
    parseFailureOptions(options)
  if (typeof store?.check !== 'function') throw invalid('store', `store must be a Store, got ${show(store)}.`)
  const traits = store.traits ?? {}
  const longestWaitMs = Math.max(connectTimeoutMs, deadlineMs)

  const overload = createOverloadState(timers.now, (isOverloaded) => emit({ type: 'overload', isOverloaded }))
  const starvation = createStarvationState(timers.now, (isStarved, lateMs) =>
    emit({ type: 'starved', isStarved, lateMs }),
  )
  const deadlines = createDeadlines({ timers, loop, onLate: starvation.fired })
  const breakers = createBreakers({
    now: timers.now,
    random,
    onChange({ state, part, error }) {
      emit({ type: 'breaker', state, part })
      setUp(breakers.state() === 'closed', error)
    },
  })
  traits.onReachable?.(breakers.retrySoon)
  const waitMs = () => Math.max(SHORTEST_WAIT_MS, Math.ceil(breakers.waitMs()))
  const counts = createLocalCounts({ clock, now: timers.now, waitMs })
  const fallback = createFallback({
    counts,
    clock,
    waitMs,
    cachedDenial: traits.cachedDenial,
    onDegraded(mode, reason) {
      if (reason === 'overload') overload.sign()
      emit({ type: 'degraded', mode, reason })
    },
  })

  let inFlight = 0
  let hasAnswered = false
  let isUp = true
  let isClosed = false
  /** Calls that time out at one moment fail together: they share an error, and the breaker counts it once. */
  let timeout = { atMs: -1, error: undefined as unknown }

  function emit(event: FailureEvent): void {
    // An error in the listener must not fail a request, and must not go unnoticed.
    try {
      const result: unknown = onEvent(event)
      if (isPromise(result)) result.then(undefined, warnOfListener)
    } catch (error) {
      warnOfListener(error)
    }
  }

  function setUp(isUpNow: boolean, error?: unknown): void {
    if (isUpNow === isUp) return
    isUp = isUpNow
    if (isUp) counts.outageEnded()
    else counts.outageBegan()
    emit(isUp ? { type: 'store', isUp } : { type: 'store', isUp, error })
  }

  function assertOpen(): void {
    if (isClosed) throw storeClosed()
  }

  /** The breaker in front of these requests, or undefined for malformed ones: the store rejects them itself. */
  function circuitOf(requests: readonly ResetRequest[]): Circuit | undefined {
    if (traits.partOf === undefined) return breakers.of(undefined)
    try {
      return breakers.ofAll(requests.map((request) => traits.partOf!(request)))
    } catch {
      return undefined
    }
  }

  /** One call to the store. Rejects if the store fails, or must not be called, or does not answer in time. */
  function ask<T>(requests: readonly ResetRequest[], send: (call: Call) => MaybePromise<T>): Promise<T> {
    if (inFlight >= maxInFlight) return Promise.reject(TOO_MANY_IN_FLIGHT)
    const circuit = circuitOf(requests)
    const permit = circuit?.acquire() ?? 0
    if (permit === NO_PERMIT) return Promise.reject(BREAKER_OPEN)

    return new Promise<T>((resolve, reject) => {
      const call: Call = { abandoned: false }
      if (inFlight === 0) loop.tick()
      const sentMs = loop.now()
      const deadline = deadlines.start(sentMs + deadlineMs, onDue)
      inFlight += requests.length

      /** False if the call has ended before. */
      function end(): boolean {
        if (call.abandoned) return false
        call.abandoned = true
        deadlines.stop(deadline)
        inFlight -= requests.length
        return true
      }

      function onAnswer(answer: T): void {
        if (!end()) return
        hasAnswered = true
        circuit?.succeeded(permit)
        overload.answered()
        if (!isUp && breakers.state() === 'closed') setUp(true)
        resolve(answer)
      }

      function onFailure(error: unknown, stallMs = 0): void {
        if (!end()) return
        if (!isStoreFailure(error) || isFailureOf(error, 'overload')) circuit?.ignored(permit)
        else {
          emit({ type: 'call-failed', isTimeout: isFailureOf(error, 'timeout'), error })
          // After a cold start without an answer, later checks do not wait for as long again.
          const isDefinite =
            isFailureOf(error, 'unreachable') || (!hasAnswered && isFailureOf(error, 'timeout'))
          circuit?.failed(permit, error, { isDefinite, stallMs })
          if (!hasAnswered) setUp(false, error)
        }
        reject(error)
      }

      /** The store has `deadlineMs` from the moment the call is on the wire; before that, the queue is ours. */
      function onDue(nowMs: number): number | undefined {
        const waitedMs = nowMs - sentMs
        const silentMs = silentMsOf(requests) ?? waitedMs
        const isSilent = silentMs >= deadlineMs
        if (waitedMs < longestWaitMs && !(isSilent && hasAnswered)) {
          const lookAgainMs = isSilent ? deadlineMs : deadlineMs - silentMs
          return Math.min(nowMs + lookAgainMs, sentMs + longestWaitMs)
        }
        onFailure(isSilent ? timeoutAt(nowMs) : QUEUED_TOO_LONG, deadlineMs)
        return undefined
      }

      try {
        const answer = send(call)
        if (isPromise(answer)) answer.then(onAnswer, (error) => onFailure(error))
        else onAnswer(answer)
      } catch (error) {
        onFailure(error)
      }
    })
  }

  /** Undefined if the store does not measure it, or rejects the requests as malformed. */
  function silentMsOf(requests: readonly ResetRequest[]): number | undefined {
    try {
      const silentMs = traits.silentMs?.(requests)
      return Number.isNaN(silentMs) ? undefined : silentMs
    } catch {
      return undefined
    }
  }

  function timeoutAt(atMs: number): unknown {
    if (timeout.atMs !== atMs) {
      const afterMs = hasAnswered ? deadlineMs : longestWaitMs
      const reason = traits.waitsFor?.()
      const message = `The store did not answer within ${afterMs} ms${reason === undefined ? '' : `: ${reason}`}.`
      timeout = { atMs, error: storeFailed('timeout', message) }
    }
    return timeout.error
  }

  return Object.freeze({
    traits: {
      kind: 'guarded' as const,
      ...(traits.ready && { ready: () => traits.ready!() }),
    },

    get breakerState() {
      return breakers.state()
    },

    async check(request: TakeRequest): Promise<Decision> {
      assertOpen()
      // Copied: the caller may reuse the object while the store decides.
      const { policy, key, cost } = request
      const copy = { policy, key, cost }
      const denial = traits.cachedDenial?.([copy], false)?.decisions[0]
      if (denial !== undefined) return denial
      try {
        return await ask([copy], (call) => store.check(request, call))
      } catch (error) {
        return fallback.decide('check', copy, reasonOf(error))
      }
    },

    async take(requests: readonly TakeRequest[]): Promise<TakeResult> {
      assertOpen()
      const copies = Array.isArray(requests) ? requests.map(copyOf) : []
      const denial = traits.cachedDenial?.(copies, false)
      if (denial !== undefined) return denial
      try {
        return await ask(copies, (call) => store.take(requests, call))
      } catch (error) {
        return fallback.take(copies, reasonOf(error))
      }
    },

    async peek(request: TakeRequest): Promise<Decision> {
      assertOpen()
      const { policy, key, cost } = request
      const copy = { policy, key, cost }
      try {
        return await ask([copy], (call) => store.peek(request, call))
      } catch (error) {
        return fallback.decide('peek', copy, reasonOf(error))
      }
    },

    /** A refund that fails gives 0 and is not repeated: it may have been executed. */
    async refund(request: RefundRequest): Promise<number> {
      assertOpen()
      if (request.degraded !== undefined) {
        assertRefund(request)
        return request.degraded === 'local' ? counts.refund(request) : 0
      }
      try {
        return await ask([request], (call) => store.refund(request, call))
      } catch (error) {
        reasonOf(error)
        assertRefund(request)
        return 0
      }
    },

    /** A reset that fails rejects: its caller must know that the key was not reset. */
    async reset(request: ResetRequest): Promise<void> {
      assertOpen()
      assertPolicy(request.policy)
      assertKey(request.key)
      counts.reset(request)
      await ask([request], (call) => store.reset(request, call))
    },

    async close(): Promise<void> {
      isClosed = true
      await store.close()
    },
  })
}

/** The shortest wait of a degraded denial: HTTP announces waits in whole seconds. */
const SHORTEST_WAIT_MS = 1000
const MAX_DEADLINE_MS = 60_000
const MAX_MAX_IN_FLIGHT = 1_000_000

const BREAKER_OPEN = storeFailed(
  'breaker-open',
  'The circuit breaker is open: the store failed a moment ago.',
)
const TOO_MANY_IN_FLIGHT = storeFailed('overload', 'Too many requests wait for the store already.')
const QUEUED_TOO_LONG = storeFailed('overload', 'The request waited too long in the queue of this process.')

function copyOf<T>(request: T): T {
  return request instanceof Object ? { ...request } : request
}

/** Rethrows an error that no fallback answers: invalid input, or a closed store. */
function reasonOf(error: unknown): DegradedReason {
  if (!isStoreFailure(error)) throw error
  return isFailureOf(error, 'overload') ? 'overload' : 'failure'
}

/** A test's own time and chance; not among the public options. */
interface TestEnvironment {
  timers?: Timers
  clock?: Clock
  random?: () => number
}

/** The test hook: `{ [TEST_ENVIRONMENT]: { timers, clock, random } }` among the options. */
export const TEST_ENVIRONMENT = Symbol('tidegate.test-environment')

/** The options with their defaults; rejects invalid ones. */
export function parseFailureOptions(options: FailureOptions) {
  assertOptions('withFallback()', options, ['deadlineMs', 'connectTimeoutMs', 'maxInFlight', 'onEvent'])
  const { deadlineMs = 50, connectTimeoutMs = 1000, maxInFlight = 5000, onEvent = warnOnChange() } = options
  for (const [field, value, max, otherwise] of [
    ['deadlineMs', deadlineMs, MAX_DEADLINE_MS, 50],
    ['connectTimeoutMs', connectTimeoutMs, MAX_DEADLINE_MS, 1000],
    ['maxInFlight', maxInFlight, MAX_MAX_IN_FLIGHT, 5000],
  ] as const) {
    if (Number.isInteger(value) && value >= 1 && value <= max) continue
    throw invalid(
      field,
      `${field} must be a whole number from 1 to ${max.toLocaleString('en')}, got ${show(value)}. The default is ${otherwise}.`,
    )
  }
  if (typeof onEvent !== 'function') {
    throw invalid(
      'onEvent',
      `onEvent must be a function, got ${show(onEvent)}. Without it, changes are printed as process warnings.`,
    )
  }
  const test = (options as { [TEST_ENVIRONMENT]?: TestEnvironment })[TEST_ENVIRONMENT]
  const { timers = platformTimers, clock = systemClock, random = Math.random } = test ?? {}
  const loop = test?.timers === undefined ? eventLoopTime(timers.now) : createEventLoopTime(timers.now)
  return { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, timers, loop, clock, random }
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
