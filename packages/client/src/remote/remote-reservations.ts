import {
  type Call,
  type Decision,
  type FullStore,
  parseReserve,
  parseSettle,
  type ResetRequest,
  retryOnFailure,
  type SettleResult,
  TidegateError,
} from '@tidegate/core'
import type { Operate } from './operations.js'
import { failed, type ServiceResponse } from './service.js'
import { decisionIn, errorOf, isAmount, isCount } from './service-response.js'

/** Creates `reserve` and `settle` of the remote store. */
export function createRemoteReservations(
  operate: Operate,
  assertOpen: () => void,
): Pick<FullStore, 'reserve' | 'settle'> {
  async function settleOne({ policy, key }: ResetRequest, id: string, actual: number, call?: Call) {
    const response = await operate('settle', { key, policy: policy.name, id, actual }, call)
    if (response.status !== 200) throw errorOf(response)
    return settleResultOf(response)
  }

  return {
    async reserve(requests, options, call) {
      assertOpen()
      const { limits, id, ttlMs, maxOpen } = parseReserve(requests, options)
      if (limits.length > 1) {
        const message = `The service reserves one limit at a time, got ${limits.length} requests. Reserve each limit separately.`
        throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'requests' })
      }
      if (options?.maxOpen !== undefined && maxOpen !== MAX_OPEN) {
        const message = `maxOpen is ${MAX_OPEN} in the service, got ${maxOpen}. Leave it out.`
        throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'maxOpen' })
      }
      const { policy, key, units } = limits[0]!
      const json = { key, policy: policy.name, permits: units, id, ttl: ttlMs }
      const response = await operate('reserve', json, call)
      const decision = reservedDecisionOf(response, decisionIn(response, { policy, key, cost: units }), id)
      return {
        id,
        allowed: decision.allowed,
        decisions: [decision],
        retryAfterMs: decision.retryAfterMs,
        delayMs: 0,
        ...(decision.repeated && { repeated: true }),
      }
    },

    /** Retries each settlement until it succeeds, because a repeated settlement has no further effect. */
    async settle(requests, id, actual, call) {
      const limits = parseSettle(requests, id, actual)
      assertOpen()
      const answers = await Promise.allSettled(
        limits.map((limit) =>
          retryOnFailure(
            () => settleOne(limit, id, limit.actual, call),
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

const MAX_OPEN = 1000

function reservedDecisionOf({ body }: ServiceResponse, decision: Decision, id: string): Decision {
  const reserved = isCount(body.reserved) ? body.reserved : 0
  return { ...decision, delayMs: 0, id, reserved, ...(body.repeated === true && { repeated: true }) }
}

function settleResultOf({ body }: ServiceResponse): SettleResult {
  const { settled, refunded, charged, overBy, reason } = body
  if (settled === true && isAmount(refunded) && isCount(charged) && isCount(overBy)) {
    return { settled, refunded, charged, overBy }
  }
  if (settled === false && (reason === 'ended' || reason === 'unknown')) return { settled, reason }
  throw failed('its response is not a settlement')
}
