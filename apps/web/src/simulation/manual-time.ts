import { ManualClock } from '@tidegate/core'
import type { Timers } from '@tidegate/core/testing'

/** A clock and timers that advance on demand. Times are milliseconds since the epoch. */
export function createManualTime(startMs: number) {
  const clock = new ManualClock(startMs)
  let pending: { dueMs: number; run: () => void }[] = []
  const timers: Timers = {
    now: () => clock.nowMs(),
    after(ms, run) {
      const timer = { dueMs: clock.nowMs() + ms, run }
      pending.push(timer)
      return timer
    },
    cancel(timer) {
      pending = pending.filter((each) => each !== timer)
    },
    unref() {},
    afterReading: (run) => timers.after(0, run),
  }
  return {
    clock,
    timers,
    /** Runs the timers that are due up to a time, in order, and calls `afterEach` after each of them. */
    async advanceTo(ms: number, afterEach: () => void): Promise<void> {
      for (;;) {
        const [next] = pending.filter(({ dueMs }) => dueMs <= ms).sort((a, b) => a.dueMs - b.dueMs)
        if (next === undefined) break
        timers.cancel(next)
        clock.set(Math.max(clock.nowMs(), next.dueMs))
        next.run()
        await Promise.resolve()
        afterEach()
      }
      clock.set(ms)
    },
  }
}
