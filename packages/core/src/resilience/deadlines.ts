import type { Timers } from '../timers.js'
import { type EventLoopTime, TICK_MS } from './event-loop-time.js'

/**
 * Called when a deadline is due, after replies that have arrived were read. Returns the next deadline in event-loop time,
 * or undefined to end the wait.
 */
type OnDue = (nowMs: number) => number | undefined

/** A pending deadline, in a list ordered by `dueMs`. */
interface Deadline {
  dueMs: number
  readonly onDue: OnDue
  previous: Deadline
  next: Deadline
}

export interface DeadlinesOptions {
  timers: Timers
  loop: EventLoopTime
  /** Called each time the timer fires, with how late it was. */
  onLate: (lateMs: number) => void
}

export interface Deadlines {
  /** `dueMs` is in event-loop time. */
  start(dueMs: number, onDue: OnDue): Deadline
  stop(deadline: Deadline): void
}

/**
 * Runs all pending deadlines on one timer, because a timer per call would cost more than the rest of a check. The timer
 * fires at least every tick, which keeps `EventLoopTime` accurate while calls are pending.
 */
export function createDeadlines({ timers, loop, onLate }: DeadlinesOptions): Deadlines {
  const list = { dueMs: Number.NEGATIVE_INFINITY } as Deadline
  list.next = list.previous = list
  let isArmed = false

  function arm(nowMs: number): void {
    isArmed = true
    const waitMs = Math.min(TICK_MS, Math.max(1, Math.ceil(list.next.dueMs - nowMs)))
    const expectedMs = timers.now() + waitMs
    timers.after(waitMs, () => {
      loop.tick()
      const firedMs = loop.now()
      onLate(Math.max(0, timers.now() - expectedMs))
      // Read replies that arrived while the event loop was busy before anything expires. The time of reading does not
      // count, because replies that arrive during it are read in the next turn.
      timers.afterReading(() => expireDue(firedMs))
    })
  }

  function expireDue(nowMs: number): void {
    isArmed = false
    while (list.next !== list && list.next.dueMs <= nowMs) {
      const deadline = list.next
      unlink(deadline)
      const nextDueMs = deadline.onDue(nowMs)
      if (nextDueMs === undefined) continue
      deadline.dueMs = Math.max(nextDueMs, nowMs + 1)
      insert(deadline)
    }
    if (list.next !== list) arm(loop.now())
  }

  /** Searches from the end, because nearly every new deadline is the last one due. */
  function insert(deadline: Deadline): void {
    let before = list.previous
    while (before.dueMs > deadline.dueMs) before = before.previous
    deadline.previous = before
    deadline.next = before.next
    before.next.previous = deadline
    before.next = deadline
  }

  return {
    start(dueMs, onDue) {
      const deadline: Deadline = { dueMs, onDue, previous: list, next: list }
      insert(deadline)
      if (!isArmed) arm(loop.now())
      return deadline
    },
    stop: unlink,
  }
}

/** Removes a deadline from its list, if it is in one. */
function unlink(deadline: Deadline): void {
  deadline.previous.next = deadline.next
  deadline.next.previous = deadline.previous
  deadline.previous = deadline.next = deadline
}
