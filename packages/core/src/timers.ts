/** A monotonic clock and timers: the platform's, or those of a test. */
export interface Timers {
  /** Milliseconds of a clock that never steps back. */
  now(): number
  /** Runs once after `ms` milliseconds. Returns a handle for `cancel`. */
  after(ms: number, run: () => void): unknown
  cancel(timer: unknown): void
  /** Lets the process end although the timer has not run, where the platform can. */
  unref(timer: unknown): void
  /** Runs once the event loop has read everything that has arrived by now. */
  afterReading(run: () => void): void
}

/** Globals are looked up at each call, so that fake timers of a test runner take effect. */
export const platformTimers: Timers = {
  now: () => (platform.performance === undefined ? Date.now() : platform.performance.now()),
  after: (ms, run) => platform.setTimeout(run, ms),
  cancel: (timer) => platform.clearTimeout(timer),
  unref: (timer) => (timer as { unref?(): void }).unref?.(),
  afterReading: (run) => {
    // Node reads sockets between its timers and its immediates; elsewhere the next task is close enough.
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
