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
  /** The timeout, if it has one yet. After the units were taken, the end of the delay. */
  task: Task | undefined
  /** Leaky bucket: the decision that took the units, during its delay. */
  taken: Decision | undefined
  /** Whether its timeout was compared with the known wait. */
  isAssessed: boolean
  previous: Waiter | undefined
  next: Waiter | undefined
}

/** The calls that wait for one key, in order of arrival. Only the first one is checked. */
export interface Line {
  readonly key: string
  first: Waiter | undefined
  last: Waiter | undefined
  /** The units that they take for certain: see `Pace`. */
  units: number
  /** The call whose check is in flight. */
  checking: Waiter | undefined
  /** This cost was denied until `notBeforeMs`, and so is every larger one. Infinite if nothing is known. */
  deniedCost: number
  notBeforeMs: number
  /** Whether the limit itself denied it, so that its pace applies from `notBeforeMs` on. */
  isPaced: boolean
  /** Whether no units can be available before `notBeforeMs`. An unavailable store can be back at any time. */
  isCertain: boolean
  /** Leaky bucket: units that are taken from now on do not leave before this time. */
  leavesMs: number
  /** Ends the sleep of the line, if it sleeps. */
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

/** Takes a call out of its line, if it is in it. If it was the first, the line goes on with the next one. */
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

/** The earliest time, as far as is known, at which a call can be served that comes after this many units of the line. */
export function earliestMs(line: Line, pace: Pace, units: number, cost: number): number {
  const isKnown = line.isCertain && line.first !== undefined && line.first.cost >= line.deniedCost
  if (!isKnown) return line.leavesMs
  const afterMs = line.isPaced ? pace.leastMs(line.deniedCost, units + cost, cost) : 0
  return Math.max(line.leavesMs, line.notBeforeMs + afterMs)
}

/** Calls `onLate` for each call that came while the wait was unknown and for which it is too long. */
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
