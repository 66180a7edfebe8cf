import type { Timers } from '../timers.js'
import { storeFailed } from './store-failure.js'

/**
 * Answers that are waited for, each for the same time. So they run out in the order in which they came, and
 * one timer is enough for all; a timer for each would cost more than all else that is done around a check.
 */
export interface DeadlineQueue {
  /** The answer, or a failure if it is not there within the deadline, counted from `sentMs`. */
  race<T>(answer: Promise<T>, sentMs: number): Promise<T>
}

export interface DeadlineQueueOptions {
  deadlineMs: number
  timers: Timers
  /** Told of each answer that came in time. */
  onAnswer: () => void
}

export function createDeadlineQueue({ deadlineMs, timers, onAnswer }: DeadlineQueueOptions): DeadlineQueue {
  /** Where the ring of those who wait begins and ends; the next to run out comes after it. */
  const ring = {} as Waiting
  ring.next = ring.previous = ring
  /** From the moment a timer is set until those who have run out are failed. */
  let isArmed = false
  let timer: unknown
  let isForgiven = false

  function arm(dueMs: number): void {
    isArmed = true
    timer = timers.after(Math.max(1, Math.ceil(dueMs - timers.now())), () => {
      timer = undefined
      const isLate = timers.now() - dueMs >= LATE_MS
      timers.afterReading(() => giveUp(isLate))
    })
  }

  /**
   * Fails those who still wait though their time is over. Where the timer came late, this process was too busy
   * to look for the answers, and the store is not to blame: but once only. If nothing at all has come since
   * then, it is the store that is silent, however busy we are.
   */
  function giveUp(isLate: boolean): void {
    isArmed = false
    const nowMs = timers.now()
    if (ring.next !== ring && ring.next.dueMs <= nowMs) {
      const cause = isLate && !isForgiven ? 'timeout-of-busy-process' : 'timeout'
      if (isLate) isForgiven = true
      // One for all of them: they failed together.
      const error = storeFailed(cause, `The store did not answer within ${deadlineMs} ms.`)
      while (ring.next !== ring && ring.next.dueMs <= nowMs) {
        ring.next.reject(error)
        leave(ring.next)
      }
    }
    if (ring.next !== ring) arm(ring.next.dueMs)
  }

  function race<T>(answer: Promise<T>, sentMs: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const last = ring.previous
      const waiting: Waiting = {
        dueMs: sentMs + deadlineMs,
        reject,
        isWaiting: true,
        previous: last,
        next: ring,
      }
      last.next = waiting
      ring.previous = waiting
      if (!isArmed) arm(waiting.dueMs)
      answer.then(
        (value) => {
          if (!waiting.isWaiting) return
          leave(waiting)
          isForgiven = false
          onAnswer()
          // One that is due soon is left for the next call: to set it anew each time would cost more.
          if (deadlineMs > SOON_MS) rest()
          resolve(value)
        },
        (error) => {
          if (!waiting.isWaiting) return
          leave(waiting)
          // It may be that the store was closed, and that nobody comes after this one.
          rest()
          reject(error)
        },
      )
    })
  }

  /** Lets go of the timer if nobody waits: it would keep a program that is done from ending. */
  function rest(): void {
    if (timer === undefined || ring.next !== ring) return
    timers.cancel(timer)
    timer = undefined
    isArmed = false
  }

  return { race }
}

interface Waiting {
  readonly dueMs: number
  readonly reject: (error: unknown) => void
  isWaiting: boolean
  previous: Waiting
  next: Waiting
}

function leave(waiting: Waiting): void {
  waiting.isWaiting = false
  waiting.previous.next = waiting.next
  waiting.next.previous = waiting.previous
}

/** From when on a timer is late because the event loop was blocked, and not for its own coarseness. */
const LATE_MS = 10
/** A timer that is due within this time keeps no program from ending that anybody would notice. */
const SOON_MS = 100
