import type { Decision, MaybePromise, TakeResult } from '@tidegate/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { atEndOfTurn } from '../http/end-of-turn.js'
import { recordCheck } from '../metrics/metrics.js'
import type { Service } from '../service.js'
import { bodyOf, type CheckBody, messageOf, unaskedBodyOf } from './answer.js'
import type { Asked } from './asking.js'
import { overloaded, withinShare } from './in-flight-shares.js'

/**
 * Goes on with what a store answers, at the end of the turn of the event loop in which it does: at this one's if it has
 * answered already, which a store in this process always has. `note` is told of it at once.
 */
export function whenAnswered<T>(
  answer: MaybePromise<T>,
  reply: FastifyReply,
  goOn: (answer: T) => void,
  note?: (answer: T) => void,
): void {
  const failed = (error: unknown) => void reply.send(error)
  const answered = (answer: T) => {
    note?.(answer)
    atEndOfTurn(() => goOn(answer), failed)
  }
  if (answer instanceof Promise) answer.then(answered).catch(failed)
  else answered(answer)
}

export function record(service: Service, { by, take }: Asked, decision: Decision, startMs: number): void {
  recordCheck(by.meter, decision.allowed, (performance.now() - startMs) / 1000)
  if (decision.degraded !== undefined) service.metrics.countDegraded(decision.degraded)
  if (service.keys.isOn) service.keys.note(by, take.key, decision.allowed)
}

/** What was asked for together, and what came of it. */
export interface Taken {
  readonly asked: readonly Asked[]
  readonly allowed: boolean
  /** One for each that was asked; none where another had refused before it was looked at. */
  readonly decisions: readonly (Decision | undefined)[]
}

/** Takes all of it or nothing, and records it. */
export function takeAll(
  service: Service,
  asked: readonly Asked[],
  request: FastifyRequest,
  reply: FastifyReply,
  goOn: (taken: Taken) => void,
): void {
  const start = performance.now()
  const answer = withinShare<TakeResult>(
    service,
    request,
    asked.length,
    () => service.store.take(asked.map(({ take }) => take)),
    () => ({ allowed: false, decisions: asked.map(overloaded), retryAfterMs: 1000, delayMs: 0 }),
  )
  whenAnswered(
    answer,
    reply,
    ({ allowed, decisions }) => goOn({ asked, allowed, decisions }),
    ({ decisions }) => {
      decisions.forEach((decision, i) => {
        if (decision !== undefined) record(service, asked[i]!, decision, start)
      })
    },
  )
}

/** What each of them says by itself. */
export function bodiesOf({ asked, allowed, decisions }: Taken): CheckBody[] {
  return asked.map((one, i) => {
    const decision = decisions[i]
    if (decision === undefined) return unaskedBodyOf(one)
    const isOnlyByItself = decision.allowed && !allowed
    return bodyOf(one, decision, isOnlyByItself ? 'Not counted: another limit refuses' : messageOf(decision))
  })
}

/** The one because of which there is no answer but 503, if there is one. */
export function closedOf({ allowed, decisions }: Taken): Decision | undefined {
  return allowed ? undefined : decisions.find((decision) => decision?.degraded === 'closed')
}

/** Says in a header that the store has not decided all of it; of several ways, the strictest. */
export function showDegraded(decisions: readonly (Decision | undefined)[], reply: FastifyReply): void {
  const mode = MODES.find((mode) => decisions.some((decision) => decision?.degraded === mode))
  if (mode !== undefined) reply.header('x-ratelimit-degraded', mode)
}

const MODES = ['closed', 'local', 'open'] as const
