import { type JointReservation, jointReservationOf, settleIfHeld } from '../reservations/handle.js'
import { parseReserve, parseSettle, type SettleLimit } from '../reservations/parse-reservation.js'
import type { ReserveOptions, ReserveResult, SettleResult } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { retryOnFailure } from '../store/retry-on-failure.js'
import type { Call, MaybePromise, ResetRequest, Store, TakeRequest } from '../store/store.js'
import type { Timers } from '../timers.js'
import type { createFallback, DegradedReason } from './fallback.js'
import type { LocalCounts } from './local-counts.js'

export interface ResilientReservationsOptions {
  store: Store
  /** Makes one guarded call. Rejects if the store fails, must not be called, or does not respond in time. */
  callStore: <T>(requests: readonly ResetRequest[], send: (call: Call) => MaybePromise<T>) => Promise<T>
  /** Why the store did not decide. Rethrows an error that has no fallback. */
  reasonOf: (error: unknown) => DegradedReason
  fallback: ReturnType<typeof createFallback>
  counts: LocalCounts
  timers: Timers
  /** Throws if the store is closed. */
  assertOpen: () => void
}

/**
 * Reservations with a fallback. A degraded reserve may have reached the store before it failed, so it is settled there by
 * its id, unless it was counted in this process.
 */
export function createResilientReservations(options: ResilientReservationsOptions) {
  const { store, callStore, reasonOf, fallback, counts, timers, assertOpen } = options

  function settleAtStore(limit: SettleLimit, id: string): Promise<SettleResult> {
    return callStore([limit], async (call) => {
      assertOperation(store, 'settle')
      return (await store.settle([limit], id, [limit.actual], call))[0]!
    })
  }

  async function settleLimit(limit: SettleLimit, id: string): Promise<SettleResult> {
    const settled = counts.settle(limit, id)
    if (settled === undefined) {
      return retryOnFailure(() => settleAtStore(limit, id), isOpen, timers)
    }
    // The store may have executed the reserve too, without a response in time.
    settleAtStore(limit, id).catch(() => {})
    return settled
  }

  function isOpen(): boolean {
    try {
      assertOpen()
      return true
    } catch {
      return false
    }
  }

  /** Rejects after a few failed attempts, so that the caller can repeat the settlement later. */
  async function settle(
    requests: readonly ResetRequest[],
    id: string,
    actual: readonly number[],
  ): Promise<SettleResult[]> {
    assertOpen()
    const limits = parseSettle(requests, id, actual)
    const answers = await Promise.allSettled(limits.map((limit) => settleLimit(limit, id)))
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    })
  }

  async function reserve(
    requests: readonly TakeRequest[],
    reserveOptions?: ReserveOptions,
  ): Promise<JointReservation<Promise<SettleResult[]>>> {
    assertOpen()
    const request = parseReserve(requests, reserveOptions)
    const { limits, id, ttlMs, maxOpen } = request
    const copies = limits.map(({ policy, key, units }) => ({ policy, key, cost: units }))
    let result: ReserveResult
    try {
      result = await callStore(copies, (call) => {
        assertOperation(store, 'reserve')
        return store.reserve(copies, { id, ttl: ttlMs, maxOpen }, call)
      })
    } catch (error) {
      result = fallback.reserve(request, reasonOf(error))
    }
    return jointReservationOf(result, limits, async (actual) =>
      settleIfHeld(result, () => settle(limits, id, actual)),
    )
  }

  return { reserve, settle }
}
