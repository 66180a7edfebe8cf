import type { Decision, MaybePromise, TakeResult } from '@tidegate/core'
import type { ReportedLimit } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { atEndOfTurn } from '../../http/end-of-turn.js'
import { recordCheck } from '../../metrics/metrics.js'
import type { Service } from '../../service.js'
import { overloadDecision, withinShare } from '../request/in-flight-shares.js'
import type { ParsedCheck } from '../request/parse-check.js'
import { type CheckBody, checkBodyOf, checkMessageOf, skippedCheckBodyOf } from './check-body.js'

/**
 * Calls `respond` with the result of the store at the end of the turn of the event loop, and `observe` at once. An error is
 * sent as the response.
 */
export function whenDecided<T>(
  result: MaybePromise<T>,
  reply: FastifyReply,
  respond: (result: T) => void,
  observe?: (result: T) => void,
): void {
  const sendError = (error: unknown) => void reply.send(error)
  const settle = (result: T) => {
    observe?.(result)
    atEndOfTurn(() => respond(result), sendError)
  }
  if (result instanceof Promise) result.then(settle).catch(sendError)
  else settle(result)
}

/** Adds a decision to the metrics, and to the busiest keys while they are tracked. */
export function recordDecision(
  { metrics, keys }: Service,
  { activePolicy, takeRequest }: ParsedCheck,
  decision: Decision,
  startMs: number,
): void {
  recordCheck(activePolicy.meter, decision.allowed, (performance.now() - startMs) / 1000)
  if (decision.degraded !== undefined) metrics.recordDegraded(decision.degraded)
  if (keys.isTracking) keys.record(activePolicy, takeRequest.key, decision.allowed)
}

/** Checks one limit within the caller's share of calls in flight, and records the decision. */
export function checkOne(
  service: Service,
  parsed: ParsedCheck,
  request: FastifyRequest,
  reply: FastifyReply,
  respond: (decision: Decision) => void,
): void {
  const start = performance.now()
  const decision = withinShare(
    service,
    request,
    1,
    () => service.store.check(parsed.takeRequest),
    () => overloadDecision(parsed),
  )
  whenDecided(decision, reply, respond, (decision) => recordDecision(service, parsed, decision, start))
}

/** Checks of one take, and their result. */
export interface TakeOutcome {
  readonly checks: readonly ParsedCheck[]
  readonly allowed: boolean
  /** One per check; undefined for a check that was skipped because another was denied. */
  readonly decisions: readonly (Decision | undefined)[]
}

/** Takes all checks or none, and records the decisions. */
export function takeAll(
  service: Service,
  checks: readonly ParsedCheck[],
  request: FastifyRequest,
  reply: FastifyReply,
  respond: (outcome: TakeOutcome) => void,
): void {
  const start = performance.now()
  const result = withinShare<TakeResult>(
    service,
    request,
    checks.length,
    () => service.store.take(checks.map(({ takeRequest }) => takeRequest)),
    () => ({ allowed: false, decisions: checks.map(overloadDecision), retryAfterMs: 1000, delayMs: 0 }),
  )
  whenDecided(
    result,
    reply,
    ({ allowed, decisions }) => respond({ checks, allowed, decisions }),
    ({ decisions }) => {
      decisions.forEach((decision, i) => {
        if (decision !== undefined) recordDecision(service, checks[i]!, decision, start)
      })
    },
  )
}

/** The result of each check. */
export function checkBodiesOf({ checks, allowed, decisions }: TakeOutcome): CheckBody[] {
  return checks.map((check, i) => {
    const decision = decisions[i]
    if (decision === undefined) return skippedCheckBodyOf(check)
    const isUndone = decision.allowed && !allowed
    return checkBodyOf(
      check,
      decision,
      isUndone ? 'Not counted: another limit denied' : checkMessageOf(decision),
    )
  })
}

/** The limits that were checked, for the headers of the response. */
export function reportedLimits({ checks, decisions }: TakeOutcome): ReportedLimit[] {
  return checks.flatMap(({ activePolicy }, i) => {
    const decision = decisions[i]
    return decision === undefined ? [] : [{ decision, policy: activePolicy.policy }]
  })
}

/** The decision that makes the response 503, if there is one. */
export function closedDecisionIn({ allowed, decisions }: TakeOutcome): Decision | undefined {
  return allowed ? undefined : decisions.find((decision) => decision?.degraded === 'closed')
}

/** Sets `X-RateLimit-Degraded` if the store did not decide every check; of several modes, the strictest. */
export function setDegradedHeader(decisions: readonly (Decision | undefined)[], reply: FastifyReply): void {
  const mode = MODES.find((mode) => decisions.some((decision) => decision?.degraded === mode))
  if (mode !== undefined) reply.header('x-ratelimit-degraded', mode)
}

const MODES = ['closed', 'local', 'open'] as const
