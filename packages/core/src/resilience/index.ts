import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import { optionInvalid } from '../options.js'
import { assertPolicy } from '../policy/index.js'
import type { JointReservation } from '../reservations/handle.js'
import { notAStore } from '../store/not-a-store.js'
import { assertOperation } from '../store/operations.js'
import { assertBlock, assertRefund, assertTakeUpTo } from '../store/requests.js'
import {
  type AsyncStore,
  type BlockRequest,
  type Call,
  isPromise,
  type MaybePromise,
  type RefundRequest,
  type ReserveOptions,
  type ResetRequest,
  type SettleResult,
  type SlotRequest,
  type Store,
  type StoreTraits,
  type TakeRequest,
  type TakeResult,
  type TakeUpToRequest,
  type TakeUpToResult,
} from '../store/store.js'
import { isFailureOf, isStoreFailure, storeClosed, storeFailed } from '../store/store-error.js'
import { type BreakerState, type Circuit, NO_PERMIT } from './breaker.js'
import { createOverloadState, createStarvationState } from './changes.js'
import { createDeadlines } from './deadlines.js'
import type { FailureEvent } from './events.js'
import { type FailureOptions, parseFailureOptions } from './failure-options.js'
import { createFallback, type DegradedReason } from './fallback.js'
import { createResilientReservations } from './guarded-reservations.js'
import { createGuardedSlots } from './guarded-slots.js'
import { createLocalCounts } from './local-counts.js'
import { createBreakers } from './part-breakers.js'
import { warnOfListener } from './warnings.js'

export { type FailureOptions, parseFailureOptions, TEST_ENVIRONMENT } from './failure-options.js'

/** A store that always decides, whatever happens to the one behind it. */
export interface ResilientStore extends AsyncStore {
  readonly traits: StoreTraits & { readonly kind: 'guarded' }
  charge(request: TakeRequest): Promise<Decision>
  block(request: BlockRequest): Promise<void>
  takeUpTo(request: TakeUpToRequest): Promise<TakeUpToResult>
  reserve(
    requests: readonly TakeRequest[],
    options?: ReserveOptions,
  ): Promise<JointReservation<Promise<SettleResult[]>>>
  settle(requests: readonly ResetRequest[], id: string, actual: readonly number[]): Promise<SettleResult[]>
  release(slots: readonly SlotRequest[]): Promise<boolean[]>
  renew(slots: readonly SlotRequest[]): Promise<(boolean | undefined)[]>
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
 * `createLimiter` does this to every store that needs it. `docs/operators/reliability.md` describes the behaviour.
 */
export function withFallback(store: Store, options: FailureOptions = {}): ResilientStore {
  const { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, modes, timers, loop, clock, random } =
    parseFailureOptions(options)
  if (typeof store?.check !== 'function') throw optionInvalid('store', notAStore(store))
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
  traits.onUnreachable?.((error) => {
    if (!hasAnswered && !isClosed) setUp(false, error)
  })
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

  /**
   * One call to the store. If it fails, must not be made or is not answered in time, `instead` gives the answer, or
   * throws.
   */
  function ask<T>(
    requests: readonly ResetRequest[],
    send: (call: Call) => MaybePromise<T>,
    instead: (error: unknown) => T = rethrow,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      function giveUp(error: unknown): void {
        try {
          resolve(instead(error))
        } catch (unanswerable) {
          reject(unanswerable)
        }
      }

      // Malformed requests are rejected by the store.
      if (isUp) for (const request of requests) modes.add(request?.policy?.onStoreFailure)
      if (inFlight >= maxInFlight) return giveUp(TOO_MANY_IN_FLIGHT)
      const circuit = circuitOf(requests)
      const permit = circuit?.acquire() ?? 0
      if (permit === NO_PERMIT) return giveUp(BREAKER_OPEN)

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
        giveUp(error)
      }

      /** The store has `deadlineMs` from when the call is on the wire; time in this process's queue does not count. */
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

  /** Copied: the caller may reuse the object while the store decides. Malformed requests are left to the store. */
  function copyOf(request: TakeRequest): TakeRequest {
    if (isSlot(request)) return slots.withId(request)
    return request instanceof Object ? { ...request } : request
  }

  const slots = createGuardedSlots({ store, ask, counts, partOf: traits.partOf, now: timers.now })

  return Object.freeze({
    ...createResilientReservations({ store, ask, reasonOf, fallback, counts, timers, assertOpen }),

    traits: {
      kind: 'guarded' as const,
      ...(traits.ready && { ready: () => traits.ready!() }),
    },

    get breakerState() {
      return breakers.state()
    },

    check(request: TakeRequest): Promise<Decision> {
      // Not `async`: that would be one more promise for each check.
      try {
        assertOpen()
        // Copied: the caller may reuse the object while the store decides.
        const { policy, key, cost } = request
        const copy = isSlot(request) ? slots.withId(request) : { policy, key, cost }
        const denial = traits.cachedDenial?.([copy], false)?.decisions[0]
        if (denial !== undefined) return Promise.resolve(denial)
        return ask(
          [copy],
          (call) => store.check(copy, call),
          (error) => {
            const reason = reasonOf(error)
            if (error !== TOO_MANY_IN_FLIGHT) slots.releaseUnanswered([copy], error)
            return fallback.decide('check', copy, reason)
          },
        )
      } catch (error) {
        return Promise.reject(error)
      }
    },

    async take(requests: readonly TakeRequest[]): Promise<TakeResult> {
      assertOpen()
      const copies = Array.isArray(requests) ? requests.map(copyOf) : []
      const denial = traits.cachedDenial?.(copies, false)
      if (denial !== undefined) return denial
      try {
        return await ask(copies, (call) => store.take(Array.isArray(requests) ? copies : requests, call))
      } catch (error) {
        const reason = reasonOf(error)
        if (error !== TOO_MANY_IN_FLIGHT) slots.releaseUnanswered(copies, error)
        return fallback.take(copies, reason)
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

    async charge(request: TakeRequest): Promise<Decision> {
      assertOpen()
      const { policy, key, cost } = request
      const copy = { policy, key, cost }
      try {
        return await ask([copy], (call) => {
          assertOperation(store, 'charge')
          return store.charge(request, call)
        })
      } catch (error) {
        return fallback.charge(copy, reasonOf(error))
      }
    },

    /** Without the store, the result is that of a degraded check of `min` units. */
    async takeUpTo(request: TakeUpToRequest): Promise<TakeUpToResult> {
      assertOpen()
      const copy = { ...request }
      const limit = { policy: copy.policy, key: copy.key, cost: copy.min }
      const denial = traits.cachedDenial?.([limit], false)?.decisions[0]
      if (denial !== undefined) return { taken: 0, decision: denial, windowEndMs: undefined }
      try {
        return await ask([limit], (call) => {
          assertOperation(store, 'takeUpTo')
          return store.takeUpTo(copy, call)
        })
      } catch (error) {
        const reason = reasonOf(error)
        assertTakeUpTo(copy)
        const decision = fallback.decide('check', limit, reason)
        return { taken: decision.allowed ? copy.min : 0, decision, windowEndMs: undefined }
      }
    },

    /** Rejects if the block fails, so that the caller knows that the key is not blocked. */
    async block(request: BlockRequest): Promise<void> {
      assertOpen()
      assertBlock(request)
      assertOperation(store, 'block')
      await ask([request], (call) => store.block(request, call))
    },

    /** Returns 0 if the refund fails, and does not repeat it: it may have been executed. */
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

    async release(slotRequests: readonly SlotRequest[]): Promise<boolean[]> {
      assertOpen()
      return slots.release(slotRequests)
    },

    async renew(slotRequests: readonly SlotRequest[]): Promise<(boolean | undefined)[]> {
      assertOpen()
      return slots.renew(slotRequests)
    },

    /** Rejects if the reset fails, so that the caller knows that the key was not reset. */
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

const BREAKER_OPEN = storeFailed(
  'breaker-open',
  'The circuit breaker is open: the store failed a moment ago.',
)
const TOO_MANY_IN_FLIGHT = storeFailed('overload', 'Too many requests wait for the store already.')
const QUEUED_TOO_LONG = storeFailed('overload', 'The request waited too long in the queue of this process.')

function rethrow(error: unknown): never {
  throw error
}

function isSlot(request: TakeRequest): boolean {
  return request?.policy?.algorithm === 'concurrency'
}

/** Rethrows an error that has no fallback: invalid input, or a closed store. */
function reasonOf(error: unknown): DegradedReason {
  if (!isStoreFailure(error)) throw error
  return isFailureOf(error, 'overload') ? 'overload' : 'failure'
}
