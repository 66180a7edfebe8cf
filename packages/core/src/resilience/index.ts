import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import { assertPolicy } from '../policy/index.js'
import type { JointReservation } from '../reservations/handle.js'
import { assertStore } from '../store/assert-store.js'
import type {
  BlockRequest,
  ReserveOptions,
  SettleResult,
  SlotRequest,
  TakeUpToRequest,
  TakeUpToResult,
} from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { assertBlock, assertRefund, assertTakeUpTo } from '../store/requests.js'
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
import { type BreakerState, type Circuit, NO_PERMIT } from './breaker.js'
import { createInstabilityState, createOverloadState, createStarvationState } from './changes.js'
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

/** A store with a fallback: it decides even if the wrapped store fails. See `withFallback`. */
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
  /** The state of the circuit breaker; for a store with several parts, the worst state. */
  readonly breakerState: BreakerState
  close(): Promise<void>
}

/**
 * Adds a timeout, a circuit breaker, a bound on requests in flight and each policy's `onStoreFailure` to a store.
 * `createLimiter` adds this to every remote store, so call it only to use a store directly. Wrap a store once and share the
 * result, because each wrapper has its own circuit breaker.
 *
 * Only failed calls and missing connections count as failures of the store. Delays in this process, such as a blocked event
 * loop or a used-up CPU quota, do not: such calls wait up to `connectTimeoutMs`, and are then counted in this process.
 * `docs/operators/reliability.md` has the details.
 *
 * @example
 * ```ts
 * const store = withFallback(new RedisStore('redis://localhost:6379'), { deadlineMs: 100 })
 * const decision = await store.check({ policy, key: 'user:123', cost: 1 })
 * ```
 */
export function withFallback(store: Store, options: FailureOptions = {}): ResilientStore {
  const { deadlineMs, connectTimeoutMs, maxInFlight, onEvent, modes, timers, loop, clock, random } =
    parseFailureOptions(options)
  assertStore(store, 'withFallback')
  const traits = store.traits ?? {}
  const longestWaitMs = Math.max(connectTimeoutMs, deadlineMs)

  const overload = createOverloadState(timers.now, (isOverloaded) => emit({ type: 'overload', isOverloaded }))
  const starvation = createStarvationState(timers.now, (isStarved, lateMs) =>
    emit({ type: 'starved', isStarved, lateMs }),
  )
  const instability = createInstabilityState(timers.now, (isUnstable, error) =>
    emit(isUnstable ? { type: 'unstable', isUnstable, error } : { type: 'unstable', isUnstable }),
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
  let hasResponded = false
  let isUp = true
  let isClosed = false
  /** Calls that time out at the same time share an error, so the breaker counts one failure. */
  let timeout = { atMs: -1, error: undefined as unknown }

  // After the state, because a store can call a listener immediately.
  traits.onReachable?.(breakers.retrySoon)
  traits.onUnreachable?.((error) => {
    if (!hasResponded && !isClosed) setUp(false, error)
  })

  function emit(event: FailureEvent): void {
    // An error of the listener must not fail a request, so it becomes a warning.
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

  /** The circuit breaker for these requests; undefined for malformed ones, which the store rejects. */
  function circuitOf(requests: readonly ResetRequest[]): Circuit | undefined {
    if (traits.partOf === undefined) return breakers.of(undefined)
    try {
      return breakers.ofAll(requests.map((request) => traits.partOf!(request)))
    } catch {
      return undefined
    }
  }

  /**
   * Makes one guarded call. If it fails, must not be made, or gets no response in time, returns the result of `instead`, or
   * throws its error.
   */
  function callStore<T>(
    requests: readonly ResetRequest[],
    send: (call: Call) => MaybePromise<T>,
    instead: (error: unknown) => T = rethrow,
    maxCalls = maxInFlight,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      function giveUp(error: unknown): void {
        try {
          resolve(instead(error))
        } catch (finalError) {
          reject(finalError)
        }
      }

      // Malformed requests are rejected by the store.
      if (isUp) for (const request of requests) modes.add(request?.policy?.onStoreFailure)
      if (inFlight >= maxCalls) return giveUp(TOO_MANY_IN_FLIGHT)
      const circuit = circuitOf(requests)
      const permit = circuit?.acquire() ?? 0
      if (permit === NO_PERMIT) return giveUp(BREAKER_OPEN)

      const call: Call = { abandoned: false }
      if (inFlight === 0) loop.tick()
      const sentMs = loop.now()
      const deadline = deadlines.start(sentMs + deadlineMs, onDue)
      inFlight += requests.length

      /** Ends the call. Returns false if it had already ended. */
      function end(): boolean {
        if (call.abandoned) return false
        call.abandoned = true
        deadlines.stop(deadline)
        inFlight -= requests.length
        return true
      }

      function onResult(result: T): void {
        if (!end()) return
        hasResponded = true
        circuit?.succeeded(permit)
        overload.answered()
        instability.answered()
        if (!isUp && breakers.state() === 'closed') setUp(true)
        resolve(result)
      }

      function onFailure(error: unknown, stallMs = 0): void {
        if (!end()) return
        if (!isStoreFailure(error) || isFailureOf(error, 'overload')) circuit?.ignored(permit)
        else {
          emit({ type: 'call-failed', isTimeout: isFailureOf(error, 'timeout'), error })
          // After a cold start without a response, later checks must not wait as long again.
          const isDefinite =
            isFailureOf(error, 'unreachable') || (!hasResponded && isFailureOf(error, 'timeout'))
          circuit?.failed(permit, error, { isDefinite, stallMs })
          if (!hasResponded) setUp(false, error)
          // While the store is down, that is already known.
          if (isUp) instability.failed(error)
        }
        giveUp(error)
      }

      /** The store has `deadlineMs` from when the call was sent; time in this process's queue does not count. */
      function onDue(nowMs: number): number | undefined {
        const waitedMs = nowMs - sentMs
        const silentMs = silentMsOf(requests) ?? waitedMs
        const isSilent = silentMs >= deadlineMs
        if (waitedMs < longestWaitMs && !(isSilent && hasResponded)) {
          const nextMs = isSilent ? deadlineMs : deadlineMs - silentMs
          return Math.min(nowMs + nextMs, sentMs + longestWaitMs)
        }
        onFailure(isSilent ? timeoutAt(nowMs) : QUEUED_TOO_LONG, deadlineMs)
        return undefined
      }

      try {
        const answer = send(call)
        if (isPromise(answer)) answer.then(onResult, (error) => onFailure(error))
        else onResult(answer)
      } catch (error) {
        onFailure(error)
      }
    })
  }

  /** Undefined if the store does not measure it, or the requests are malformed. */
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
      const afterMs = hasResponded ? deadlineMs : longestWaitMs
      const reason = traits.waitsFor?.()
      const message = `The store did not respond within ${afterMs} ms${reason === undefined ? '' : `: ${reason}`}.`
      timeout = { atMs, error: storeFailed('timeout', message) }
    }
    return timeout.error
  }

  /** Copies a request, because the caller can reuse the object. Malformed requests are left for the store to reject. */
  function copyOf(request: TakeRequest): TakeRequest {
    if (isSlot(request)) return slots.withId(request)
    return request instanceof Object ? { ...request } : request
  }

  const slots = createGuardedSlots({
    store,
    // Twice as many, because a flood of checks must not keep slots taken.
    callStore: (requests, send) => callStore(requests, send, rethrow, 2 * maxInFlight),
    counts,
    partOf: traits.partOf,
    now: timers.now,
  })

  return Object.freeze({
    ...createResilientReservations({ store, callStore, reasonOf, fallback, counts, timers, assertOpen }),

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
        // Copied, because the caller can reuse the object.
        const { policy, key, cost } = request
        const copy = isSlot(request) ? slots.withId(request) : { policy, key, cost }
        const denial = traits.cachedDenial?.([copy], false)?.decisions[0]
        if (denial !== undefined) return Promise.resolve(denial)
        return callStore(
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
        return await callStore(copies, (call) =>
          store.take(Array.isArray(requests) ? copies : requests, call),
        )
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
        return await callStore([copy], (call) => store.peek(request, call))
      } catch (error) {
        return fallback.decide('peek', copy, reasonOf(error))
      }
    },

    async charge(request: TakeRequest): Promise<Decision> {
      assertOpen()
      const { policy, key, cost } = request
      const copy = { policy, key, cost }
      try {
        return await callStore([copy], (call) => {
          assertOperation(store, 'charge')
          return store.charge(request, call)
        })
      } catch (error) {
        return fallback.charge(copy, reasonOf(error))
      }
    },

    /** The fallback is a degraded check of `min` units. */
    async takeUpTo(request: TakeUpToRequest): Promise<TakeUpToResult> {
      assertOpen()
      const copy = { ...request }
      const limit = { policy: copy.policy, key: copy.key, cost: copy.min }
      const denial = traits.cachedDenial?.([limit], false)?.decisions[0]
      if (denial !== undefined) return { taken: 0, decision: denial, windowEndMs: undefined }
      try {
        return await callStore([limit], (call) => {
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

    /** Has no fallback: rejects if the block fails. */
    async block(request: BlockRequest): Promise<void> {
      assertOpen()
      assertBlock(request)
      assertOperation(store, 'block')
      await callStore([request], (call) => store.block(request, call))
    },

    /** Returns 0 if the refund fails. It is not repeated, because the store may have executed it. */
    async refund(request: RefundRequest): Promise<number> {
      assertOpen()
      if (request.degraded !== undefined) {
        assertRefund(request)
        return request.degraded === 'local' ? counts.refund(request) : 0
      }
      try {
        return await callStore([request], (call) => store.refund(request, call))
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

    /** Has no fallback: rejects if the reset fails. */
    async reset(request: ResetRequest): Promise<void> {
      assertOpen()
      assertPolicy(request.policy)
      assertKey(request.key)
      counts.reset(request)
      await callStore([request], (call) => store.reset(request, call))
    },

    async close(): Promise<void> {
      isClosed = true
      await store.close()
    },
  })
}

/** The minimum wait of a degraded denial, because HTTP has waits in whole seconds. */
const SHORTEST_WAIT_MS = 1000

const BREAKER_OPEN = storeFailed(
  'breaker-open',
  'The circuit breaker is open, because recent calls to the store failed.',
)
const TOO_MANY_IN_FLIGHT = storeFailed(
  'overload',
  'Too many requests are waiting for the store (maxInFlight).',
)
const QUEUED_TOO_LONG = storeFailed(
  'overload',
  'The request waited too long in the queue of this process (connectTimeoutMs).',
)

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
