import { sharedByCopies } from '../copies.js'

/**
 * Milliseconds in which this process could react. A stretch in which the event loop is blocked or the process is
 * starved of CPU counts as one tick, so that a deadline measured in this time never blames the store for it.
 */
export interface EventLoopTime {
  now(): number
  /** To be called by timers, every `TICK_MS` while a deadline is pending. */
  tick(): void
}

export const TICK_MS = 10
/** A longer step between two ticks means that the event loop could not run. */
const LONGEST_STEP_MS = 2 * TICK_MS

/** @param wallMs Milliseconds of a clock that never steps back. */
export function createEventLoopTime(wallMs: () => number): EventLoopTime {
  let loopMs = 0
  let readMs = 0
  let tickedMs = wallMs()
  return {
    // Between two ticks it advances by the longest step at most: it is read in the middle of long turns too.
    now() {
      readMs = loopMs + Math.min(LONGEST_STEP_MS, wallMs() - tickedMs)
      return readMs
    },
    tick() {
      const nowMs = wallMs()
      const stepMs = nowMs - tickedMs
      // A call counts from the time that was read: the next tick must not be before it.
      loopMs = Math.max(readMs, loopMs + (stepMs > LONGEST_STEP_MS ? TICK_MS : stepMs))
      tickedMs = nowMs
    },
  }
}

/** The time of this process's event loop, one for all copies of this package. */
export function eventLoopTime(wallMs: () => number): EventLoopTime {
  return sharedByCopies('event-loop time', () => createEventLoopTime(wallMs))
}
