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
  type SettleResult,
  type TakeRequest,
  TidegateError,
  untilAnswered,
} from '@tidegate/core'
import { ABANDONED, NOT_ON_ONE_NODE } from './call-errors.js'
import { type Decided, type Entry, UNDO } from './protocol.js'

export interface ReservationsOptions {
  /** Runs an entry; rejects with `NOT_ON_ONE_NODE` if no node can decide all of its limits. */
  run: (entry: Entry, call?: Call) => Promise<Decided>
  redisKeyOf: (request: ResetRequest) => string
  /** Throws if the store is closed. */
  assertOpen: () => void
  /** Called with the result of a reserve that was denied only when it was charged, and taken back. */
  onLostRace: (result: ReserveResult) => void
}

/** Reserves and settles by the script. */
export function createReservations({ run, redisKeyOf, assertOpen, onLostRace }: ReservationsOptions) {
  function reserveLimits(
    { id, ttlMs, maxOpen }: Reserve,
    limits: readonly ReserveLimit[],
    call: Call | undefined,
    isLook = false,
  ): Promise<Decision[]> {
    const redisLimits = limits.map(({ policy, key, units }) => {
      return { policy, redisKey: redisKeyOf({ policy, key }), cost: units }
    })
    const entry = {
      kind: 'reserve',
      limits: redisLimits,
      id,
      ttlUs: isLook ? 0 : ttlMs * 1000,
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
    return (await run({ kind: 'settle', limits: [limit], id }, call)).settled!
  }

  /**
   * Reserves every limit under the same id, each in its slot. If one denies after all (a lost race) or fails, the others
   * are taken back. Their id stays free, so that the reserve can be repeated.
   */
  async function reserveEach(request: Reserve, looks: readonly Decision[], call?: Call): Promise<Decision[]> {
    const answers = await Promise.allSettled(
      request.limits.map(async (limit, i) => {
        return looks[i]!.repeated ? looks[i]! : (await reserveLimits(request, [limit], call))[0]!
      }),
    )
    const decisions = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
    if (decisions.every((decision) => decision?.allowed)) return decisions as Decision[]
    await Promise.allSettled(
      request.limits.map((limit, i) =>
        isOurs(answers[i]!) ? settleLimit(limit, request.id, UNDO) : undefined,
      ),
    )
    const failure = answers.find((answer) => answer.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? { ...looks[i]!, reserved: 0 } : decision!))
  }

  return {
    /** All or nothing. One call of the script, unless a cluster has the limits on several nodes. */
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
      const looks = (
        await Promise.all(limits.map((limit) => reserveLimits(request, [limit], call, true)))
      ).flat()
      if (!looks.every(({ allowed }) => allowed)) return reserveResult(request, withNothingReserved(looks))
      if (call?.abandoned) throw ABANDONED
      assertOpen()
      const result = reserveResult(request, await reserveEach(request, looks, call))
      if (!result.allowed) onLostRace(result)
      return result
    },

    /** One by one, each until it is answered: a settlement that is sent twice has an effect once. */
    async settle(
      requests: readonly ResetRequest[],
      id: string,
      actual: readonly number[],
      call?: Call,
    ): Promise<SettleResult[]> {
      const limits = parseSettle(requests, id, actual)
      assertOpen()
      const answers = await Promise.allSettled(
        limits.map((limit) =>
          untilAnswered(
            () => settleLimit(limit, id, limit.actual, call),
            () => call?.abandoned !== true,
          ),
        ),
      )
      return answers.map((answer) => {
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      })
    },
  }
}

/** Whether a reservation may have been made by this answer. A used id belongs to another one. */
function isOurs(answer: PromiseSettledResult<Decision>): boolean {
  if (answer.status === 'fulfilled') return answer.value.allowed && !answer.value.repeated
  return !(answer.reason instanceof TidegateError && answer.reason.code === 'RESERVATION_ID_USED')
}

/** A look reserves nothing; a reservation that is open is still there. */
function withNothingReserved(looks: readonly Decision[]): Decision[] {
  return looks.map((look) => (look.repeated ? look : { ...look, reserved: 0 }))
}
