/** A monotonic clock and timers: the platform's, or those of a test. */
export interface Timers {
  /** Milliseconds of a clock that never steps back. */
  now(): number
  /** Runs once after `ms` milliseconds. Returns a handle for `cancel`. */
  after(ms: number, run: () => void): unknown
  cancel(timer: unknown): void
  /** Lets the process exit before the timer fires, if the platform supports it. */
  unref(timer: unknown): void
  /** Runs after the event loop has read all data that has arrived by now. */
  afterReading(run: () => void): void
}

/** Globals are looked up at each call, so that fake timers of a test runner take effect. */
export const platformTimers: Timers = {
  now: () => (platform.performance === undefined ? Date.now() : platform.performance.now()),
  after: (ms, run) => platform.setTimeout(run, ms),
  cancel: (timer) => platform.clearTimeout(timer),
  unref: (timer) => (timer as { unref?(): void }).unref?.(),
  afterReading: (run) => {
    // Node.js reads sockets between timers and immediates. On other platforms the next task is close enough.
    if (platform.setImmediate === undefined) platform.setTimeout(run, 0)
    else platform.setImmediate(run)
  },
}

/** A callback that runs at the earliest of several requested times. */
export interface Alarm {
  /** Runs the callback at this time of `timers.now()`, or earlier if an earlier time was requested. */
  setBy(ms: number): void
  /** Drops all requested times. */
  cancel(): void
}

/** Creates an alarm on one timer, which does not keep the process alive. */
export function createAlarm(timers: Timers, run: () => void): Alarm {
  let dueMs = Number.POSITIVE_INFINITY
  let timer: unknown

  function onTimer(): void {
    dueMs = Number.POSITIVE_INFINITY
    run()
  }

  return {
    setBy(ms) {
      if (ms >= dueMs) return
      timers.cancel(timer)
      dueMs = ms
      timer = timers.after(Math.max(1, Math.ceil(ms - timers.now())), onTimer)
      timers.unref(timer)
    },
    cancel() {
      timers.cancel(timer)
      dueMs = Number.POSITIVE_INFINITY
    },
  }
}

const platform = globalThis as unknown as {
  performance?: { now(): number }
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
  setImmediate?(run: () => void): unknown
}
