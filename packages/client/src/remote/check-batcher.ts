import { type Call, type Decision, storeFailed, type TakeRequest } from '@tidegate/core'
import type { SendRequest, ServiceResponse } from './service.js'
import { decisionIn, decisionOf, errorOf, indexOf } from './service-response.js'

/** A check without a response yet. */
interface QueuedCheck {
  readonly request: TakeRequest
  /** Undefined for a caller without a deadline, which waits for at most `maxWaitMs`. */
  readonly call: Call | undefined
  readonly madeMs: number
  /** The number of batches with this check that were rejected because of another check. */
  rejections: number
  resolve(decision: Decision): void
  reject(error: unknown): void
}

export interface CheckBatcherOptions {
  sendRequest: SendRequest
  /** How long a check without a `Call` may wait to be sent, in milliseconds. */
  maxWaitMs: number
  /** Milliseconds since the epoch: the time of a decision. */
  timeMs: () => number
}

/**
 * Sends checks that arrive together in one call. While few calls are in flight, checks are sent at the end of the microtask,
 * so an idle system adds no latency. Otherwise they gather until a response arrives.
 */
export function createCheckBatcher({ sendRequest, maxWaitMs, timeMs }: CheckBatcherOptions) {
  let queue: QueuedCheck[] = []
  let calls = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || queue.length === 0 || calls >= MAX_CALLS) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      queue = withoutAbandoned(queue)
      while (queue.length > 0 && calls < MAX_CALLS) void send(queue.splice(0, batchLength(queue)))
    })
  }

  /** Rejects checks whose callers have stopped waiting, so that they are not charged. */
  function withoutAbandoned(checks: QueuedCheck[]): QueuedCheck[] {
    const sinceMs = performance.now() - maxWaitMs
    return checks.filter(({ call, madeMs, reject }) => {
      if (call === undefined ? madeMs >= sinceMs : !call.abandoned) return true
      reject(storeFailed('overload', 'The check waited too long in the queue of this process.'))
      return false
    })
  }

  async function send(batch: readonly QueuedCheck[]): Promise<void> {
    calls++
    try {
      const checks = batch.map(({ request }) => checkOf(request))
      if (batch.length === 1)
        settleOne(batch[0]!, await sendRequest({ method: 'POST', path: CHECK, json: checks[0]! }))
      else settleAll(batch, await sendRequest({ method: 'POST', path: `${CHECK}/batch`, json: { checks } }))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      calls--
      schedule()
    }
  }

  function settleOne({ request, resolve }: QueuedCheck, response: ServiceResponse): void {
    resolve(decisionIn(response, request))
  }

  function settleAll(batch: readonly QueuedCheck[], response: ServiceResponse): void {
    const { results } = response.body
    if (response.status === 200 && Array.isArray(results) && results.length === batch.length) {
      const nowMs = timeMs()
      // Parse all results before resolving any, so that a malformed response resolves none.
      const decisions = batch.map(({ request }, i) => decisionOf(results[i], request, nowMs, true))
      for (const [i, decision] of decisions.entries()) batch[i]!.resolve(decision)
      return
    }
    const error = errorOf(response)
    const index = indexOf(response) ?? batch.length
    const invalidCheck = batch[index]
    if (error.code === 'STORE_FAILED' || invalidCheck === undefined) throw error
    // One invalid check fails the whole batch, and no check was counted, so the others are sent again.
    const isValid = (check: QueuedCheck) =>
      check !== invalidCheck &&
      (error.field !== 'policy' || check.request.policy.name !== invalidCheck.request.policy.name)
    for (const check of batch) if (!isValid(check)) check.reject(error)
    // The service names the first invalid check; later ones may be invalid too.
    const before = withoutAbandoned(batch.slice(0, index).filter(isValid))
    const after = batch.slice(index).filter(isValid)
    for (const check of after) check.rejections++
    queue.unshift(...after)
    if (before.length > 0) void send(before)
  }

  return {
    check(request: TakeRequest, call: Call | undefined): Promise<Decision> {
      return new Promise((resolve, reject) => {
        queue.push({ request, call, madeMs: performance.now(), rejections: 0, resolve, reject })
        schedule()
      })
    },
  }
}

export const CHECK = '/api/v1/rate-limit/check'

export function checkOf({ key, policy, cost }: TakeRequest): object {
  return { key, policy: policy.name, permits: cost }
}

/** Enough that checks seldom wait for a slow network, few enough that checks are batched. */
const MAX_CALLS = 4
/** Below the limits of the service for one call, in checks and in bytes. */
const MAX_CHECKS = 1000
const MAX_BYTES = 500_000
/** After this many rejected batches a check is sent alone. */
const MAX_REJECTIONS = 5

function batchLength(queue: readonly QueuedCheck[]): number {
  let bytes = 0
  for (const [i, { request, rejections }] of queue.entries()) {
    // A character is at most three bytes in JSON, escapes included.
    bytes += 200 + 3 * request.key.length
    if (i > 0 && (i >= MAX_CHECKS || bytes > MAX_BYTES || rejections >= MAX_REJECTIONS)) return i
    if (rejections >= MAX_REJECTIONS) return 1
  }
  return queue.length
}
