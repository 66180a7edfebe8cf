import { type Run, runOf } from './simulate.js'
import type { StateAt } from './state.js'

/*
 * Two limiters with bugs that real implementations have had. The stories run them next to the core.
 */

/** A leaky bucket that leaks whole requests only, and drops the remaining time at every check. */
export function naiveLeakyBucket(arrivals: readonly number[], capacity: number, perSecond: number): Run {
  let level = 0
  let checkedMs = 0
  const levelAt = (at: number, from: number, since: number) =>
    Math.max(0, from - Math.floor(((at - since) / 1000) * perSecond))
  const checks = arrivals.map((at) => {
    level = levelAt(at, level, checkedMs)
    checkedMs = at
    const allowed = level + 1 <= capacity
    if (allowed) level++
    return { allowed, level, at }
  })
  const stateAt: StateAt = (at) => {
    const last = checks.findLast((check) => check.at <= at)
    const now = last === undefined ? 0 : levelAt(at, last.level, last.at)
    return { kind: 'leaky-bucket', level: now, capacity, waitMs: (now / perSecond) * 1000, blockedMs: 0 }
  }
  return runOf(decisionsOf(arrivals, checks), stateAt)
}

/** A log that stores a set of timestamps, so that two units with the same timestamp become one. */
export function naiveLog(arrivals: readonly number[], limit: number, windowMs: number): Run {
  let log: number[] = []
  const checks = arrivals.map((at) => {
    log = log.filter((time) => time > at - windowMs)
    const allowed = log.length < limit
    if (allowed && !log.includes(at)) log = [...log, at]
    return { allowed, log, at }
  })
  const stateAt: StateAt = (at) => {
    const kept = checks.findLast((check) => check.at <= at)?.log ?? []
    const ages = kept.filter((time) => time > at - windowMs).map((time) => (at - time) / windowMs)
    return { kind: 'sliding-window-log', count: ages.length, limit, ages, blockedMs: 0 }
  }
  return runOf(decisionsOf(arrivals, checks), stateAt)
}

function decisionsOf(arrivals: readonly number[], checks: readonly { allowed: boolean }[]) {
  return {
    atMs: arrivals,
    allowed: checks.map((check) => check.allowed),
    delayMs: arrivals.map(() => 0),
    blocks: [],
  }
}
