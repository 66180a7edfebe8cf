import { sharedByCopies } from '../copies.js'

/**
 * A clock that counts only time in which this process could react. A period in which the event loop is blocked or the
 * process is starved of CPU counts as one tick, so that it does not make the store miss a deadline.
 */
export interface EventLoopTime {
  /** Milliseconds of event-loop time. */
  now(): number
  /** Advances the clock. Timers call it every `TICK_MS` while a deadline is pending. */
  tick(): void
}

export const TICK_MS = 10
/** A longer step between two ticks means that the event loop could not run. */
const LONGEST_STEP_MS = 2 * TICK_MS

/** Creates an event-loop time from a monotonic clock in milliseconds. */
export function createEventLoopTime(wallMs: () => number): EventLoopTime {
  let loopMs = 0
  let readMs = 0
  let tickedMs = wallMs()
  return {
    // Between two ticks it advances by at most the longest step, because it is also read in long turns.
    now() {
      readMs = loopMs + Math.min(LONGEST_STEP_MS, wallMs() - tickedMs)
      return readMs
    },
    tick() {
      const nowMs = wallMs()
      const stepMs = nowMs - tickedMs
      // Never before a time that was read, because calls count from such times.
      loopMs = Math.max(readMs, loopMs + (stepMs > LONGEST_STEP_MS ? TICK_MS : stepMs))
      tickedMs = nowMs
    },
  }
}

/** The event-loop time of this process, shared by all copies of this package. */
export function eventLoopTime(wallMs: () => number): EventLoopTime {
  return sharedByCopies('event-loop time', () => createEventLoopTime(wallMs))
}
