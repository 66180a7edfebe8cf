import { type Run, runOf } from './simulate.js'
import type { Answers, StateAt } from './state.js'

/*
 * Two limiters with mistakes that have been made in earnest, to run beside ours in the stories. Not for use.
 */

/** A leaky bucket that leaks whole requests, and forgets the rest of the time at every look. */
export function naiveLeakyBucket(arrivals: readonly number[], capacity: number, perSecond: number): Run {
  let level = 0
  let lookedMs = 0
  const levelAt = (at: number, from: number, since: number) =>
    Math.max(0, from - Math.floor(((at - since) / 1000) * perSecond))
  const looks = arrivals.map((at) => {
    level = levelAt(at, level, lookedMs)
    lookedMs = at
    const allowed = level + 1 <= capacity
    if (allowed) level++
    return { allowed, level, at }
  })
  const stateAt: StateAt = (at) => {
    const last = looks.findLast((look) => look.at <= at)
    const now = last === undefined ? 0 : levelAt(at, last.level, last.at)
    return { kind: 'leaky-bucket', level: now, capacity, waitMs: (now / perSecond) * 1000 }
  }
  return runOf(answersOf(arrivals, looks), stateAt)
}

/** A log that keeps a set of times: of two units of one moment it remembers one. */
export function naiveLog(arrivals: readonly number[], limit: number, windowMs: number): Run {
  let log: number[] = []
  const looks = arrivals.map((at) => {
    log = log.filter((time) => time > at - windowMs)
    const allowed = log.length < limit
    if (allowed && !log.includes(at)) log = [...log, at]
    return { allowed, log, at }
  })
  const stateAt: StateAt = (at) => {
    const kept = looks.findLast((look) => look.at <= at)?.log ?? []
    const ages = kept.filter((time) => time > at - windowMs).map((time) => (at - time) / windowMs)
    return { kind: 'sliding-window-log', count: ages.length, limit, ages }
  }
  return runOf(answersOf(arrivals, looks), stateAt)
}

function answersOf(arrivals: readonly number[], looks: readonly { allowed: boolean }[]): Answers {
  const none = arrivals.map(() => 0)
  return { atMs: arrivals, allowed: looks.map((look) => look.allowed), delayMs: none, resetAfterMs: none }
}
