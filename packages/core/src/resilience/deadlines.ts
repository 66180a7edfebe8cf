import type { Timers } from '../timers.js'
import { type EventLoopTime, TICK_MS } from './event-loop-time.js'

/**
 * Called when a deadline is due, after replies that have arrived were read. Returns when to look again, in event-loop time, or
 * undefined if the wait is over.
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
 * All pending deadlines on one timer: one timer per call would cost more than everything else around a check. The
 * timer runs at least every tick, which keeps `EventLoopTime` right while calls are pending.
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
      // Replies may have arrived while the event loop was busy; they are read before anything expires. Time spent on
      // reading does not count: replies that arrive meanwhile are read in the next turn.
      timers.afterReading(() => lookAtDue(firedMs))
    })
  }

  function lookAtDue(nowMs: number): void {
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

  /** From the end: nearly every new deadline is the last one due. */
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

/** Harmless for a deadline that is not in the list. */
function unlink(deadline: Deadline): void {
  deadline.previous.next = deadline.next
  deadline.next.previous = deadline.previous
  deadline.previous = deadline.next = deadline
}
