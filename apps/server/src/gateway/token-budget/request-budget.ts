import type { Decision, Policy } from '@tidegate/core'
import type { RequestBudget, ResponseEnding, RouteDecision, TokenBudget, Usage } from '../route.js'
import { estimateCost } from './estimate.js'
import { createLlmRequestReader, type LlmRequest } from './llm-request.js'
import type { OutputHistory } from './output-history.js'
import { createResponseCopy, type ResponseCopy } from './response-copy.js'
import { sendUntilStored } from './send-until-stored.js'
import { settlementOf } from './settlement.js'

/** Units that are reserved before the response. */
export interface BudgetReservation {
  readonly allowed: boolean
  /** One per limit, in order; undefined for a limit that was skipped because another one denied. */
  readonly decisions: readonly (Decision | undefined)[]
  settle(actual: readonly number[]): Promise<unknown>
  cancel(): Promise<unknown>
}

export interface ReservedLimit {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
}

/** A budget that counts the request, with the key of the request. */
export interface KeyedBudget extends Omit<TokenBudget, 'key'> {
  readonly key: string
}

export interface RequestBudgetOptions {
  readonly budgets: readonly KeyedBudget[]
  readonly maxBodyBytes: number
  readonly hasOutput: boolean
  readonly history: OutputHistory
  readonly reserve: (limits: readonly ReservedLimit[]) => Promise<BudgetReservation>
  /** The decision for the client. `headers` are those of the route's other limits. */
  readonly decide: (
    decisions: BudgetReservation['decisions'],
    headers: RouteDecision['headers'],
  ) => RouteDecision
}

/** One request: estimates, reserves, reads the response and settles. */
export function createRequestBudget(options: RequestBudgetOptions): RequestBudget {
  const { budgets, maxBodyBytes, hasOutput, history, reserve, decide } = options
  const reader = createLlmRequestReader({ hasOutput })
  let request: LlmRequest | undefined
  let reservation: BudgetReservation | undefined
  let reservedUnits: readonly number[] = []
  let status: number | undefined
  let copy: ResponseCopy | undefined
  let isOver = false

  async function settle(ending: ResponseEnding, reservation: BudgetReservation): Promise<void> {
    const response = copy === undefined ? undefined : { ...(await copy.end()), status: status! }
    const settlement = settlementOf(request!, response, ending)
    if (settlement === 'cancel') return sendUntilStored(() => reservation.cancel())
    if (settlement === 'as-reserved') return sendUntilStored(() => reservation.settle(reservedUnits))
    const unitsOf = (usage: Usage) =>
      budgets.map(({ policy, costOf }) => Math.min(costOf(usage), maxUnits(policy)))
    if (settlement === 'at-maximum') {
      const { inputTokens, maxOutputTokens = 0 } = request!
      const maximumUnits = unitsOf({ input: inputTokens, cached: 0, output: maxOutputTokens })
      return sendUntilStored(() =>
        reservation.settle(maximumUnits.map((units, i) => Math.max(units, reservedUnits[i]!))),
      )
    }
    const { usage } = settlement
    if (ending === 'complete' && status! < 400) {
      const { model, maxOutputTokens } = request!
      const isCutOff = response?.isCutOff === true || usage.output >= (maxOutputTokens ?? Infinity)
      for (const { policy } of budgets) history.add(policy.name, model, usage.output, isCutOff)
    }
    const actual = unitsOf(usage)
    await sendUntilStored(() => reservation.settle(actual))
  }

  return {
    maxBodyBytes,
    readRequest: (bytes) => reader.write(bytes),
    async reserve(headers) {
      request = reader.end()
      const { model } = request
      const limits = budgets.map(({ policy, key, costOf }) => {
        const estimate = estimateCost(costOf, request!, history.p95(policy.name, model), policy.limit)
        return { policy, key, cost: Math.min(estimate, policy.limit) }
      })
      const result = await reserve(limits)
      // The store may have executed a reserve that timed out, so a degraded denial is cancelled at the end.
      if (result.allowed || result.decisions.some((decision) => decision?.degraded !== undefined)) {
        reservation = result
        reservedUnits = limits.map(({ cost }) => cost)
        // The client has disconnected in the meantime.
        if (isOver) await sendUntilStored(() => result.cancel())
      }
      return decide(result.decisions, headers)
    },
    readHead(responseStatus, rawHeaders) {
      if (reservation === undefined) return
      status = responseStatus
      copy = createResponseCopy(fieldOf(rawHeaders, 'content-type'), fieldOf(rawHeaders, 'content-encoding'))
    },
    readResponse: (bytes) => copy?.write(bytes),
    async end(ending) {
      if (isOver) return
      isOver = true
      if (reservation !== undefined) await settle(ending, reservation)
    },
  }
}

/** Maximum number of units that can be settled at once. */
function maxUnits({ algorithm }: Policy): number {
  return algorithm === 'fixed-window' ? 10 ** 15 - 1 : 10 ** 9
}

/** The value of a header, or an empty string. `rawHeaders` are alternating names and values. */
function fieldOf(rawHeaders: readonly Buffer[], name: string): string {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = rawHeaders[i]!
    if (field.length === name.length && field.toString('latin1').toLowerCase() === name) {
      return rawHeaders[i + 1]!.toString('latin1')
    }
  }
  return ''
}
