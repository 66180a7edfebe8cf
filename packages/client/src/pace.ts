import type { Quota } from './quota.js'

/** What one origin has said, and what we have sent since. */
interface Lane {
  quotas: Expected[]
  /** When the last call left, or is to leave. */
  lastMs: number
  /** Calls that have a place and no answer yet. */
  pending: number
}

/** A quota as it should be by now, until the next answer says better. */
interface Expected {
  limit: number
  remaining: number
  resetAtMs: number
  windowMs: number
}

export interface Pace {
  /** How long this call should wait; 0 also if that is more than it may: the server will tell it so. */
  enter(origin: string, nowMs: number, mayWaitMs: number): number
  /** The answer is there, or there is none. */
  leave(origin: string, nowMs: number, quotas: readonly Quota[]): void
}

/**
 * Spreads what is left over the time until there is more, so that the server has nothing to refuse. While more
 * than half of a quota is left calls go at once: a burst is what it is there for.
 */
export function createPace(randomMs: () => number): Pace {
  const lanes = new Map<string, Lane>()

  return {
    enter(origin, nowMs, mayWaitMs) {
      const lane = laneOf(lanes, origin, nowMs)
      // Not before those who came before.
      let atMs = Math.max(nowMs, lane.lastMs)
      for (const quota of lane.quotas) {
        roll(quota, atMs)
        const gap = gapMs(quota, lane.lastMs)
        // Everybody waits for the same moment then.
        const onTop = quota.remaining === 0 ? randomMs() : 0
        atMs = Math.max(atMs, lane.lastMs + gap + onTop)
      }
      lane.pending++
      if (atMs - nowMs > mayWaitMs) return 0
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
        // All who had a place have gone before their time. Nobody should wait for them.
        lane.lastMs = nowMs
        lane.quotas = []
      }
      // Places are taken beyond this quota's end: what is expected knows of them, the answer does not.
      const endMs = nowMs + Math.max(...quotas.map(({ resetAfterMs }) => resetAfterMs))
      if (quotas.length === 0 || lane.lastMs > endMs) return
      const before = lane.quotas
      lane.quotas = quotas.map(({ limit, remaining, resetAfterMs, windowMs }, i) => ({
        limit: limit ?? Math.max(remaining + 1, before[i]?.limit ?? 0),
        // The answer does not know of those that are still on their way.
        remaining: Math.max(0, remaining - lane.pending),
        resetAtMs: nowMs + resetAfterMs,
        windowMs: windowMs ?? Math.max(resetAfterMs, before[i]?.windowMs ?? 0),
      }))
    },
  }
}

const MAX_ORIGINS = 1000
/** The part of a quota that is left when calls begin to be spread. */
const SPREAD_FROM = 0.5

/** The idle go first. */
function laneOf(lanes: Map<string, Lane>, origin: string, nowMs: number): Lane {
  const lane = lanes.get(origin) ?? { quotas: [], lastMs: nowMs, pending: 0 }
  lanes.delete(origin)
  lanes.set(origin, lane)
  if (lanes.size > MAX_ORIGINS) lanes.delete(lanes.keys().next().value!)
  return lane
}

/** Brings a quota to this moment: after its reset all of it is there again, for another window. */
function roll(quota: Expected, atMs: number): void {
  if (atMs < quota.resetAtMs) return
  quota.remaining = quota.limit
  // After a long silence nothing is known of where windows begin.
  quota.resetAtMs = Math.max(quota.resetAtMs, atMs - quota.windowMs) + quota.windowMs
}

/** The wait between two calls that leaves the quota empty when it is filled again. */
function gapMs(quota: Expected, lastMs: number): number {
  if (quota.remaining > quota.limit * SPREAD_FROM) return 0
  return Math.max(0, quota.resetAtMs - lastMs) / (quota.remaining + 1)
}
