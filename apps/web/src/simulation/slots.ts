import { type ConcurrencyPolicy, ManualClock, MemoryStore } from '@tidegate/core'
import { createSteps, type Steps } from './steps.js'

/** The result of a concurrency policy. Times are milliseconds on the axis, ascending. */
export interface SlotsRun {
  readonly atMs: readonly number[]
  readonly admittedMs: readonly number[]
  /** Slots that are held. */
  readonly inUse: Steps
}

const KEY = 'visitor'

/**
 * Acquires a slot of the core's store for each request, and releases it after `durationMs`. A slot that is released at the
 * time of a request is free for that request. `originMs` is the start of the axis.
 */
export function simulateSlots(
  policy: ConcurrencyPolicy,
  {
    originMs,
    spanMs,
    arrivals,
    durationMs,
  }: { originMs: number; spanMs: number; arrivals: readonly number[]; durationMs: number },
): SlotsRun {
  const clock = new ManualClock(originMs)
  const store = new MemoryStore({ clock })
  const inUse = createSteps()
  const admittedMs: number[] = []
  let released = 0

  const record = (atMs: number) => {
    const { remaining } = store.peek({ policy, key: KEY, cost: 1 })
    inUse.add(atMs, policy.limit - remaining)
  }
  /** All requests take equally long, so they end in the order in which they started. */
  const releaseUpTo = (atMs: number) => {
    for (; released < admittedMs.length; released++) {
      const endMs = Math.round((admittedMs[released]! + durationMs) * 1000) / 1000
      if (endMs > atMs) break
      clock.set(originMs + endMs)
      store.release([{ policy, key: KEY, id: String(released) }])
      record(endMs)
    }
  }

  for (const atMs of arrivals) {
    releaseUpTo(atMs)
    clock.set(originMs + atMs)
    const id = String(admittedMs.length)
    if (store.check({ policy, key: KEY, cost: 1, id }).allowed) admittedMs.push(atMs)
    record(atMs)
  }
  releaseUpTo(spanMs)
  return { atMs: arrivals, admittedMs, inUse }
}
