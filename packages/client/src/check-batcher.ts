import type { Decision } from '@tidegate/core'
import { type Answer, type Ask, failed } from './service.js'
import { type Asked, closedBody, decisionOf, errorOf, indexOf, isClosed, oneBody } from './service-answer.js'

/** A check that has not been answered yet. */
interface Waiting {
  readonly asked: Asked
  readonly madeMs: number
  /** In how many batches it was that were refused for another check. */
  refusals: number
  resolve(decision: Decision): void
  reject(error: unknown): void
}

export interface CheckBatcherOptions {
  ask: Ask
  /** How long a check may wait to be sent, in milliseconds. */
  patienceMs: () => number
  /** Milliseconds since the epoch: when a decision was made. */
  timeMs: () => number
}

/**
 * Checks that come together travel together. While there is room a check leaves at the end of the turn in which
 * it was made, by itself if it is alone: an idle system waits for nothing. While calls are on their way checks
 * gather, and leave when one comes back.
 */
export function createCheckBatcher({ ask, patienceMs, timeMs }: CheckBatcherOptions) {
  let waiting: Waiting[] = []
  let calls = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || calls >= MAX_CALLS) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      waiting = inTime(waiting)
      while (waiting.length > 0 && calls < MAX_CALLS) void send(waiting.splice(0, batchLength(waiting)))
    })
  }

  /** Whoever made the others has had another answer: they would be charged for nothing. */
  function inTime(some: Waiting[]): Waiting[] {
    const sinceMs = performance.now() - patienceMs()
    if (some.every(({ madeMs }) => madeMs >= sinceMs)) return some
    for (const { madeMs, reject } of some)
      if (madeMs < sinceMs) reject(failed('it could not be asked in time'))
    return some.filter(({ madeMs }) => madeMs >= sinceMs)
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    calls++
    try {
      const checks = batch.map(({ asked }) => checkOf(asked))
      if (batch.length === 1)
        settleOne(batch[0]!, await ask({ method: 'POST', path: CHECK, json: checks[0]! }))
      else settleAll(batch, await ask({ method: 'POST', path: `${CHECK}/batch`, json: { checks } }))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      calls--
      schedule()
    }
  }

  function settleOne({ asked, resolve }: Waiting, answer: Answer): void {
    const isDecided = answer.status === 200 || (answer.status === 429 && 'allowed' in answer.body)
    if (!isDecided && !isClosed(answer)) throw errorOf(answer)
    const body = isDecided ? oneBody(answer) : closedBody(answer, asked)
    resolve(decisionOf(body, asked, timeMs(), true))
  }

  function settleAll(batch: readonly Waiting[], answer: Answer): void {
    const { results } = answer.body
    if (answer.status === 200 && Array.isArray(results) && results.length === batch.length) {
      const nowMs = timeMs()
      // All are read before one is settled: a half-read answer is none.
      const decisions = batch.map(({ asked }, i) => decisionOf(results[i], asked, nowMs, true))
      for (const [i, decision] of decisions.entries()) batch[i]!.resolve(decision)
      return
    }
    const error = errorOf(answer)
    const index = indexOf(answer) ?? batch.length
    const culprit = batch[index]
    if (error.code === 'STORE_FAILED' || culprit === undefined) throw error
    // One bad check is an error for all of them, and none was counted: so the others may be sent again.
    const isGood = (one: Waiting) =>
      one !== culprit && (error.field !== 'policy' || one.asked.policy.name !== culprit.asked.policy.name)
    for (const one of batch) if (!isGood(one)) one.reject(error)
    // The first bad one is named. Those behind it may not be the last to hear so.
    const before = inTime(batch.slice(0, index).filter(isGood))
    const behind = batch.slice(index).filter(isGood)
    for (const one of behind) one.refusals++
    waiting.unshift(...behind)
    if (before.length > 0) void send(before)
  }

  return {
    check(asked: Asked): Promise<Decision> {
      return new Promise((resolve, reject) => {
        waiting.push({ asked, madeMs: performance.now(), refusals: 0, resolve, reject })
        schedule()
      })
    },
  }
}

export const CHECK = '/api/v1/rate-limit/check'

export function checkOf({ key, policy, cost }: Asked): object {
  return { key, policy: policy.name, permits: cost }
}

/** So that a check seldom waits for a slow network, and many still find each other. */
const MAX_CALLS = 4
/** What the service takes at once, in checks and in bytes, with room to spare. */
const MAX_CHECKS = 1000
const MAX_BYTES = 500_000
/** A check that was held up by so many others goes by itself. */
const MAX_REFUSALS = 5

function batchLength(waiting: readonly Waiting[]): number {
  let bytes = 0
  for (const [i, { asked, refusals }] of waiting.entries()) {
    // A character is three bytes at most, or two where it has to be escaped.
    bytes += 200 + 3 * asked.key.length
    if (i > 0 && (i >= MAX_CHECKS || bytes > MAX_BYTES || refusals >= MAX_REFUSALS)) return i
    if (refusals >= MAX_REFUSALS) return 1
  }
  return waiting.length
}
