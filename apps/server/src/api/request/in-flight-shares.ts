import { type Decision, type MaybePromise, storeFailed } from '@tidegate/core'
import type { FastifyRequest } from 'fastify'
import { type ClientShares, createClientShares } from '../../http/client-shares.js'
import type { Service } from '../../service.js'
import { clientOf } from './client-address.js'
import type { ParsedCheck } from './parse-check.js'

/** Checks of one client that may wait for the store at once: two of the largest batches. */
const MAX_CHECKS_PER_CLIENT = 2000

export function createInFlightShares(): ClientShares {
  return createClientShares({ perClient: MAX_CHECKS_PER_CLIENT, together: Number.POSITIVE_INFINITY })
}

/**
 * Calls the store within the share of the client. A client that has too many checks waiting is denied without the store,
 * so that the checks of others do not wait behind its own.
 */
export function withinShare<T>(
  { inFlight, apiMetrics }: Service,
  request: FastifyRequest,
  units: number,
  call: () => MaybePromise<T>,
  deny: () => T,
): MaybePromise<T> {
  // Only calls that wait take a share, and the memory store is synchronous.
  if (inFlight === undefined) return call()
  const client = clientOf(request)
  if (!inFlight.take(client, units)) {
    apiMetrics.recordOverload(units)
    return deny()
  }
  const giveBack = () => inFlight.give(client, units)
  let result: MaybePromise<T>
  try {
    result = call()
  } catch (error) {
    giveBack()
    throw error
  }
  if (result instanceof Promise) result.then(giveBack, giveBack)
  else giveBack()
  return result
}

/** Like `withinShare`, for calls without a denial: beyond the share, they fail with 503. */
export function withinShareOrFail<T>(
  service: Service,
  request: FastifyRequest,
  units: number,
  call: () => MaybePromise<T>,
): MaybePromise<T> {
  return withinShare(service, request, units, call, () => {
    throw storeFailed('overload', 'This client has too many calls waiting for the store.')
  })
}

/** The denial of a check that was not sent to the store because its client has too many waiting. */
export function overloadDecision({ takeRequest: { policy, cost } }: ParsedCheck): Decision {
  return {
    allowed: false,
    limit: policy.limit,
    cost,
    remaining: 0,
    retryAfterMs: 1000,
    resetAfterMs: 0,
    delayMs: 0,
    timeMs: Date.now(),
    policy: policy.name,
    degraded: 'local',
    reason: 'overload',
  }
}
