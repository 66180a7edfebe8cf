import type { Timers } from '../timers.js'
import { createDeadlineQueue } from './deadline-queue.js'
import { type Guard, guardCalls, isPromise } from './guard-calls.js'
import type { Store } from './store.js'

export interface DeadlineOptions {
  deadlineMs: number
  /** The deadline until the first answer: a cold start is not an outage. */
  connectTimeoutMs: number
  timers: Timers
}

/**
 * The same store, except that a call which is not answered in time fails with `STORE_FAILED`. What the store
 * answers later is not looked at, and nothing is ever sent again: it may have been carried out.
 *
 * A deadline that fires late, because this process was busy, first lets the event loop read what has arrived.
 */
export function withDeadline(store: Store, { deadlineMs, connectTimeoutMs, timers }: DeadlineOptions): Store {
  const usual = createDeadlineQueue({ deadlineMs, timers, onAnswer: () => {} })
  const beforeFirstAnswer = createDeadlineQueue({
    deadlineMs: Math.max(connectTimeoutMs, deadlineMs),
    timers,
    onAnswer() {
      queue = usual
    },
  })
  let queue = beforeFirstAnswer
  store.expectDeadline?.(deadlineMs)

  const guard: Guard = (call, request) => {
    const sentMs = timers.now()
    const answer = call(request)
    return isPromise(answer) ? queue.race(answer, sentMs) : answer
  }
  return guardCalls(store, guard)
}
