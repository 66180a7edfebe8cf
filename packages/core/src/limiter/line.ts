import type { Decision } from '../decision.js'
import type { Pace } from './pace.js'
import type { Task } from './schedule.js'

/** One call of `wait`. */
export interface Waiter {
  readonly line: Line
  readonly cost: number
  readonly timeoutMs: number
  readonly deadlineMs: number
  /** Ends the wait. Later calls have no effect. */
  settle(result: { decision: Decision } | { error: unknown }): void
  isSettled: boolean
  /** The timer of the timeout, or, once the units were taken, of the delay. */
  task: Task | undefined
  /** Leaky bucket: the decision that took the units, during its delay. */
  taken: Decision | undefined
  /** Whether its timeout has been compared with the expected wait. */
  isAssessed: boolean
  previous: Waiter | undefined
  next: Waiter | undefined
}

/** The calls that wait for one key, in order of arrival. Only the first call is checked. */
export interface Line {
  readonly key: string
  first: Waiter | undefined
  last: Waiter | undefined
  /** The sum of their weights: see `Pace`. */
  units: number
  /** The call whose check is in flight. */
  checking: Waiter | undefined
  /** This cost and larger ones are denied until `notBeforeMs`. Infinite if unknown. */
  deniedCost: number
  notBeforeMs: number
  /** Whether the limit itself denied the cost, so that the pace of the policy applies from `notBeforeMs` on. */
  isPaced: boolean
  /** Whether units cannot be available before `notBeforeMs`. False if the store is unavailable, which can end any time. */
  isCertain: boolean
  /** Leaky bucket: the earliest time at which units taken from now on can leave. */
  leavesMs: number
  /** Ends the current wait of the line, if any. */
  wake: (() => void) | undefined
}

export function createLine(key: string): Line {
  return {
    key,
    first: undefined,
    last: undefined,
    units: 0,
    checking: undefined,
    deniedCost: Infinity,
    notBeforeMs: 0,
    isPaced: false,
    isCertain: false,
    leavesMs: 0,
    wake: undefined,
  }
}

export function append(waiter: Waiter, pace: Pace): void {
  const { line } = waiter
  waiter.previous = line.last
  if (line.last === undefined) line.first = waiter
  else line.last.next = waiter
  line.last = waiter
  line.units += pace.weigh(waiter.cost)
}

/** Removes a call from its line, if present. If it was the first, the line continues with the next call. */
export function remove(waiter: Waiter, pace: Pace): void {
  const { line, previous, next } = waiter
  if (previous === undefined && line.first !== waiter) return
  if (previous === undefined) line.first = next
  else previous.next = next
  if (next === undefined) line.last = previous
  else next.previous = previous
  line.units -= pace.weigh(waiter.cost)
  waiter.previous = undefined
  waiter.next = undefined
  if (previous === undefined) line.wake?.()
}

/** A lower bound for the time at which a call with this cost can be served, after `units` of the line. */
export function earliestMs(line: Line, pace: Pace, units: number, cost: number): number {
  const isKnown = line.isCertain && line.first !== undefined && line.first.cost >= line.deniedCost
  if (!isKnown) return line.leavesMs
  const afterMs = line.isPaced ? pace.leastMs(line.deniedCost, units + cost, cost) : 0
  return Math.max(line.leavesMs, line.notBeforeMs + afterMs)
}

/** Calls `onLate` for each call that arrived before the wait was known and whose timeout is too short for it. */
export function assess(line: Line, pace: Pace, onLate: (waiter: Waiter, atMs: number) => void): void {
  const unassessed: Waiter[] = []
  let { units } = line
  for (let waiter = line.last; waiter !== undefined && !waiter.isAssessed; waiter = waiter.previous) {
    unassessed.push(waiter)
    units -= pace.weigh(waiter.cost)
  }
  for (const waiter of unassessed.reverse()) {
    waiter.isAssessed = true
    const atMs = earliestMs(line, pace, units, waiter.cost)
    if (atMs > waiter.deadlineMs) onLate(waiter, atMs)
    else units += pace.weigh(waiter.cost)
  }
}
