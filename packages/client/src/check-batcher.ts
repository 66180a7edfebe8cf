import { type Call, type Decision, storeFailed } from '@tidegate/core'
import type { Answer, Ask } from './service.js'
import { type Asked, closedBody, decisionOf, errorOf, indexOf, isClosed, oneBody } from './service-answer.js'

/** A check that has not been answered yet. */
interface Waiting {
  readonly asked: Asked
  /** Undefined for a caller without a deadline of its own: it waits for at most `maxWaitMs`. */
  readonly call: Call | undefined
  readonly madeMs: number
  /** How many batches with it were rejected because of another check. */
  refusals: number
  resolve(decision: Decision): void
  reject(error: unknown): void
}

export interface CheckBatcherOptions {
  ask: Ask
  /** How long a check without a `Call` may wait to be sent, in milliseconds. */
  maxWaitMs: number
  /** Milliseconds since the epoch: the time of a decision. */
  timeMs: () => number
}

/**
 * Sends checks that arrive together in one call. While few calls are on the wire a check leaves at the end of its
 * microtask: an idle system adds no latency. Otherwise checks gather, and leave when a call is answered.
 */
export function createCheckBatcher({ ask, maxWaitMs, timeMs }: CheckBatcherOptions) {
  let waiting: Waiting[] = []
  let calls = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || calls >= MAX_CALLS) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      waiting = stillWanted(waiting)
      while (waiting.length > 0 && calls < MAX_CALLS) void send(waiting.splice(0, batchLength(waiting)))
    })
  }

  /** The checks whose callers still wait. The others would be charged for nothing. */
  function stillWanted(some: Waiting[]): Waiting[] {
    const sinceMs = performance.now() - maxWaitMs
    return some.filter(({ call, madeMs, reject }) => {
      if (call === undefined ? madeMs >= sinceMs : !call.abandoned) return true
      reject(storeFailed('overload', 'The check waited too long in the queue of this process.'))
      return false
    })
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
      // All are read before one is settled, so that a malformed answer settles none.
      const decisions = batch.map(({ asked }, i) => decisionOf(results[i], asked, nowMs, true))
      for (const [i, decision] of decisions.entries()) batch[i]!.resolve(decision)
      return
    }
    const error = errorOf(answer)
    const index = indexOf(answer) ?? batch.length
    const culprit = batch[index]
    if (error.code === 'STORE_FAILED' || culprit === undefined) throw error
    // One invalid check is an error for the whole batch, and none was counted: the others may be sent again.
    const isGood = (one: Waiting) =>
      one !== culprit && (error.field !== 'policy' || one.asked.policy.name !== culprit.asked.policy.name)
    for (const one of batch) if (!isGood(one)) one.reject(error)
    // The service names the first invalid check; there may be more behind it.
    const before = stillWanted(batch.slice(0, index).filter(isGood))
    const behind = batch.slice(index).filter(isGood)
    for (const one of behind) one.refusals++
    waiting.unshift(...behind)
    if (before.length > 0) void send(before)
  }

  return {
    check(asked: Asked, call: Call | undefined): Promise<Decision> {
      return new Promise((resolve, reject) => {
        waiting.push({ asked, call, madeMs: performance.now(), refusals: 0, resolve, reject })
        schedule()
      })
    },
  }
}

export const CHECK = '/api/v1/rate-limit/check'

export function checkOf({ key, policy, cost }: Asked): object {
  return { key, policy: policy.name, permits: cost }
}

/** Enough that a check seldom waits for a slow network, few enough that checks are batched. */
const MAX_CALLS = 4
/** What the service accepts in one call, in checks and in bytes, with room to spare. */
const MAX_CHECKS = 1000
const MAX_BYTES = 500_000
/** A check that was rejected with so many batches is sent alone. */
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
