import type { Quota } from './quota.js'

/** The quotas of one origin, and its calls since the last response. */
interface Lane {
  quotas: ExpectedQuota[]
  /** The time for which the last call is scheduled. */
  lastMs: number
  /** Scheduled and sent calls without a response. */
  pending: number
}

/** The estimate of a quota until the next response. */
interface ExpectedQuota {
  limit: number
  remaining: number
  resetAtMs: number
  windowMs: number
}

export interface Pace {
  /** Returns the wait of a call; 0 if it would exceed `maxWaitMs`, so that the server decides. */
  enter(origin: string, nowMs: number, maxWaitMs: number): number
  /** Records that a call has ended, with the quotas of its response. */
  leave(origin: string, nowMs: number, quotas: readonly Quota[]): void
}

/**
 * Spreads calls over the time until the reset of the quota, so that the server does not deny them. While more than half of
 * the quota remains, calls are sent immediately, which allows bursts.
 */
export function createPace(randomMs: () => number): Pace {
  const lanes = new Map<string, Lane>()

  return {
    enter(origin, nowMs, maxWaitMs) {
      const lane = laneOf(lanes, origin, nowMs)
      // Not before earlier calls.
      let atMs = Math.max(nowMs, lane.lastMs)
      for (const quota of lane.quotas) {
        roll(quota, atMs)
        const gap = gapMs(quota, lane.lastMs)
        // An exhausted quota makes all clients wait for the same reset.
        const jitterMs = quota.remaining === 0 ? randomMs() : 0
        atMs = Math.max(atMs, lane.lastMs + gap + jitterMs)
      }
      lane.pending++
      if (atMs - nowMs > maxWaitMs) return 0
      lane.lastMs = atMs
      for (const quota of lane.quotas) {
        roll(quota, atMs)
        quota.remaining = Math.max(0, quota.remaining - 1)
      }
      return atMs - nowMs
    },

    leave(origin, nowMs, quotas) {
      const lane = laneOf(lanes, origin, nowMs)
      lane.pending = Math.max(0, lane.pending - 1)
      if (lane.pending === 0 && lane.lastMs > nowMs) {
        // All scheduled calls were cancelled, so later calls do not have to wait for them.
        lane.lastMs = nowMs
        lane.quotas = []
      }
      // Keep the estimate if calls are scheduled beyond the reset of this quota, which the response does not include.
      const endMs = nowMs + Math.max(...quotas.map(({ resetAfterMs }) => resetAfterMs))
      if (quotas.length === 0 || lane.lastMs > endMs) return
      const before = lane.quotas
      lane.quotas = quotas.map(({ limit, remaining, resetAfterMs, windowMs }, i) => ({
        limit: limit ?? Math.max(remaining + 1, before[i]?.limit ?? 0),
        // The response does not include pending calls.
        remaining: Math.max(0, remaining - lane.pending),
        resetAtMs: nowMs + resetAfterMs,
        windowMs: windowMs ?? Math.max(resetAfterMs, before[i]?.windowMs ?? 0),
      }))
    },
  }
}

const MAX_ORIGINS = 1000
/** Calls are spread once this fraction of a quota remains. */
const SPREAD_FROM = 0.5

/** Finds or creates the lane of an origin. Removes the least recently used one if there are too many. */
function laneOf(lanes: Map<string, Lane>, origin: string, nowMs: number): Lane {
  const lane = lanes.get(origin) ?? { quotas: [], lastMs: nowMs, pending: 0 }
  lanes.delete(origin)
  lanes.set(origin, lane)
  if (lanes.size > MAX_ORIGINS) lanes.delete(lanes.keys().next().value!)
  return lane
}

/** Advances a quota to this time: after its reset it is full for another window. */
function roll(quota: ExpectedQuota, atMs: number): void {
  if (atMs < quota.resetAtMs) return
  quota.remaining = quota.limit
  // After a long pause the start of the window is unknown.
  quota.resetAtMs = Math.max(quota.resetAtMs, atMs - quota.windowMs) + quota.windowMs
}

/** The wait between two calls that uses up the quota exactly at its reset. */
function gapMs(quota: ExpectedQuota, lastMs: number): number {
  if (quota.remaining > quota.limit * SPREAD_FROM) return 0
  return Math.max(0, quota.resetAtMs - lastMs) / (quota.remaining + 1)
}
