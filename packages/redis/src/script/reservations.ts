import {
  type Call,
  type Decision,
  parseReserve,
  parseSettle,
  type Reserve,
  type ReserveLimit,
  type ReserveOptions,
  type ReserveResult,
  type ResetRequest,
  reserveResult,
  retryOnFailure,
  type SettleResult,
  type TakeRequest,
  TidegateError,
} from '@tidegate/core'
import { ABANDONED, NOT_ON_ONE_NODE } from './call-errors.js'
import { type Entry, type EntryResult, UNDO } from './protocol.js'

export interface ReservationsOptions {
  /** Runs an entry; rejects with `NOT_ON_ONE_NODE` if no node can decide all of its limits. */
  run: (entry: Entry, call?: Call) => Promise<EntryResult>
  redisKeyOf: (request: ResetRequest) => string
  /** Throws if the store is closed. */
  assertOpen: () => void
  /** Called with the result of a reserve that lost a race: it was denied when it was charged, and then undone. */
  onLostRace: (result: ReserveResult) => void
}

/** Reserves and settles by the script. */
export function createReservations({ run, redisKeyOf, assertOpen, onLostRace }: ReservationsOptions) {
  function reserveLimits(
    { id, ttlMs, maxOpen }: Reserve,
    limits: readonly ReserveLimit[],
    call: Call | undefined,
    isPeek = false,
  ): Promise<Decision[]> {
    const redisLimits = limits.map(({ policy, key, units }) => {
      return { policy, redisKey: redisKeyOf({ policy, key }), cost: units }
    })
    const entry = {
      kind: 'reserve',
      limits: redisLimits,
      id,
      ttlUs: isPeek ? 0 : ttlMs * 1000,
      maxOpen,
    } as const
    return run(entry, call).then(({ decisions }) => decisions)
  }

  async function settleLimit(
    { policy, key }: ResetRequest,
    id: string,
    actual: number,
    call?: Call,
  ): Promise<SettleResult> {
    const limit = { policy, redisKey: redisKeyOf({ policy, key }), cost: actual }
    return (await run({ kind: 'settle', limits: [limit], id }, call)).settlement!
  }

  /**
   * Reserves every limit under the same id, each in its slot. If one denies (a lost race) or fails, the others are undone.
   * Their id stays unused, so that the reserve can be repeated.
   */
  async function reserveEach(request: Reserve, peeks: readonly Decision[], call?: Call): Promise<Decision[]> {
    const results = await Promise.allSettled(
      request.limits.map(async (limit, i) => {
        return peeks[i]!.repeated ? peeks[i]! : (await reserveLimits(request, [limit], call))[0]!
      }),
    )
    const decisions = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined))
    if (decisions.every((decision) => decision?.allowed)) return decisions as Decision[]
    await Promise.allSettled(
      request.limits.map((limit, i) =>
        mayHaveReserved(results[i]!) ? settleLimit(limit, request.id, UNDO) : undefined,
      ),
    )
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? { ...peeks[i]!, reserved: 0 } : decision!))
  }

  return {
    /** All or nothing: one call of the script, or several if the limits are on several nodes of a cluster. */
    async reserve(
      requests: readonly TakeRequest[],
      options?: ReserveOptions,
      call?: Call,
    ): Promise<ReserveResult> {
      const request = parseReserve(requests, options)
      const { limits } = request
      assertOpen()
      try {
        return reserveResult(request, await reserveLimits(request, limits, call))
      } catch (error) {
        if (error !== NOT_ON_ONE_NODE) throw error
      }
      const peeks = (
        await Promise.all(limits.map((limit) => reserveLimits(request, [limit], call, true)))
      ).flat()
      if (!peeks.every(({ allowed }) => allowed)) return reserveResult(request, withNothingReserved(peeks))
      if (call?.abandoned) throw ABANDONED
      assertOpen()
      const result = reserveResult(request, await reserveEach(request, peeks, call))
      if (!result.allowed) onLostRace(result)
      return result
    },

    /** Settles each limit separately, and retries it, because a repeated settlement has no further effect. */
    async settle(
      requests: readonly ResetRequest[],
      id: string,
      actual: readonly number[],
      call?: Call,
    ): Promise<SettleResult[]> {
      const limits = parseSettle(requests, id, actual)
      assertOpen()
      const results = await Promise.allSettled(
        limits.map((limit) =>
          retryOnFailure(
            () => settleLimit(limit, id, limit.actual, call),
            () => call?.abandoned !== true,
          ),
        ),
      )
      return results.map((result) => {
        if (result.status === 'rejected') throw result.reason
        return result.value
      })
    },
  }
}

/** Whether this call may have made a reservation. A used id belongs to another reservation. */
function mayHaveReserved(result: PromiseSettledResult<Decision>): boolean {
  if (result.status === 'fulfilled') return result.value.allowed && !result.value.repeated
  return !(result.reason instanceof TidegateError && result.reason.code === 'RESERVATION_ID_USED')
}

/** The decisions of peeks, which reserve nothing; a reservation that was already open remains. */
function withNothingReserved(peeks: readonly Decision[]): Decision[] {
  return peeks.map((peek) => (peek.repeated ? peek : { ...peek, reserved: 0 }))
}
