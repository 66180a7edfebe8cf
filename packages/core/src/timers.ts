/** How long has passed, and what runs later: the platform's, or a test's own. */
export interface Timers {
  /** Milliseconds of a clock that never steps back. */
  now(): number
  /** Runs once, after so many milliseconds. The answer is for `cancel`. */
  after(ms: number, run: () => void): unknown
  cancel(timer: unknown): void
  /** Runs once the event loop has read what has arrived by now. */
  afterReading(run: () => void): void
}

/** Looked up at each call, so that a test runner's fake timers are used where they are on. */
export const platformTimers: Timers = {
  now: () => (platform.performance === undefined ? Date.now() : platform.performance.now()),
  after: (ms, run) => platform.setTimeout(run, ms),
  cancel: (timer) => platform.clearTimeout(timer),
  afterReading: (run) => {
    // Node reads sockets between its timers and its immediates; elsewhere the next task has to do.
    if (platform.setImmediate === undefined) platform.setTimeout(run, 0)
    else platform.setImmediate(run)
  },
}

const platform = globalThis as unknown as {
  performance?: { now(): number }
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
  setImmediate?(run: () => void): unknown
}
