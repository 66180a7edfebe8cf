import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { SlidingWindowLogPolicy } from '../policy.js'
import { type Algorithm, asOf } from './algorithm.js'
import { decideRow } from './decide-row.js'
import { LAYOUT, type Rows } from './rows.js'

const { ROW, EXPIRES_AT } = LAYOUT

/**
 * The time of each unit, as runs of units of one moment. Run i is the pair `runs[2i]`, its time, and
 * `runs[2i + 1]`, the number of units before it: a running total, so that the units between any two runs
 * are one subtraction, and the run that must leave before a cost fits is found by search.
 *
 * A log is a view, runs `head` to `tail - 1`, of a buffer that is only ever appended to: a check copies
 * nothing, and older views stay true. Whoever finds the place behind its tail taken copies first.
 */
export interface Log {
  readonly buffer: { readonly runs: Float64Array /** The first run that is free. */; end: number }
  readonly head: number
  readonly tail: number
  /** All units before the tail, counted like the runs' own totals. */
  readonly total: number
  /** Added to every time in the buffer: a log from another clock is moved without touching its runs. */
  readonly shift: number
}

const EMPTY: Log = { buffer: { runs: new Float64Array(0), end: 0 }, head: 0, tail: 0, total: 0, shift: 0 }

export const slidingWindowLogAlgorithm: Algorithm<SlidingWindowLogPolicy, Log> = {
  decide(policy, rows, row, now, cost, mode): Decision {
    const { limit, windowUs } = policy
    let log = logIn(rows, row)

    const newest = newestTime(log)
    const at = asOf(newest, now, windowUs)
    const moved = newest > at
    if (moved) log = { ...log, shift: log.shift + now - newest }

    log = after(log, at - windowUs)
    const used = unitsIn(log)

    const room = Math.max(0, limit - used)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : timeOfUnit(log, used + cost - limit) + windowUs - now
    if (charged) log = append(log, at, cost)

    const emptied = newestTime(log) + windowUs
    if (charged || (moved && mode !== 'peek')) {
      rows.objects[row] = log
      rows.numbers[row * ROW + EXPIRES_AT] = emptied
    }

    const resetAfter = charged || used > 0 ? emptied - now : 0
    return {
      allowed,
      limit: policy.limit,
      cost,
      remaining: charged ? room - cost : room,
      retryAfterMs: usToMs(retryAfter),
      resetAfterMs: usToMs(resetAfter),
      delayMs: 0,
      timeMs: usToMs(now),
      policy: policy.name,
    }
  },

  check(policy, rows, row, now, cost): Decision {
    return decideRow(this, policy, rows, row, now, cost, 'take')
  },

  refund(policy, rows, row, now, decidedAt, cost) {
    const { windowUs } = policy
    const stored = logIn(rows, row)
    const at = asOf(newestTime(stored), now, windowUs)
    const log = after(stored, at - windowUs)
    const run = firstRun(log, (i) => timeOf(log, i) >= decidedAt)
    if (run === log.tail || timeOf(log, run) !== decidedAt) return 0
    const units = totalBefore(log, run + 1) - totalBefore(log, run)
    const given = Math.min(cost, units)
    const left = given === unitsIn(log) ? EMPTY : withoutUnits(log, run, given, given === units)
    rows.objects[row] = left
    rows.numbers[row * ROW + EXPIRES_AT] = left === EMPTY ? 0 : newestTime(left) + windowUs
    return given
  },

  load: logIn,

  save(log, { objects }, row) {
    objects[row] = log
  },
}

function logIn({ objects }: Rows, row: number): Log {
  return (objects[row] as Log | undefined) ?? EMPTY
}

/** The time of the newest unit; 0, which is never ahead, if there is none. */
function newestTime(log: Log): number {
  return log.head === log.tail ? 0 : timeOf(log, log.tail - 1)
}

/** What is left of the log after `horizon`. */
function after(log: Log, horizon: number): Log {
  if (log.head === log.tail || timeOf(log, log.head) > horizon) return log
  const head = firstRun(log, (run) => timeOf(log, run) > horizon)
  return head === log.tail ? EMPTY : { ...log, head }
}

/** The log with `cost` units of the moment `at`, which is not before its newest. */
function append(log: Log, at: number, cost: number): Log {
  if (newestTime(log) === at && log.head < log.tail) return { ...log, total: log.total + cost }
  const { buffer, head, tail, total, shift } = hasRoom(log) ? log : copy(log)
  buffer.runs[2 * tail] = at - shift
  buffer.runs[2 * tail + 1] = total
  buffer.end = tail + 1
  return { buffer, head, tail: tail + 1, total: total + cost, shift }
}

/** The time of the unit that is the `number`th oldest. */
function timeOfUnit(log: Log, number: number): number {
  const target = totalBefore(log, log.head) + number
  return timeOf(log, firstRun(log, (run) => totalBefore(log, run) >= target) - 1)
}

function timeOf({ buffer, shift }: Log, run: number): number {
  return buffer.runs[2 * run]! + shift
}

function totalBefore({ buffer, tail, total }: Log, run: number): number {
  return run === tail ? total : buffer.runs[2 * run + 1]!
}

function unitsIn(log: Log): number {
  return log.total - totalBefore(log, log.head)
}

/** The first run for which `holds` is true, it being true for all after it; `tail` if there is none. */
function firstRun({ head, tail }: Log, holds: (run: number) => boolean): number {
  // What is looked for is nearly always near the head: gallop, then halve.
  let low = head
  let step = 1
  while (low + step <= tail && !holds(low + step - 1)) {
    low += step
    step *= 2
  }
  let high = Math.min(low + step - 1, tail)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function hasRoom({ buffer, tail }: Log): boolean {
  return buffer.end === tail && 2 * tail < buffer.runs.length
}

/** The same log in a buffer of its own with as much room again: amortised, an append copies one run. */
function copy({ buffer, head, tail, total, shift }: Log): Log {
  const length = tail - head
  const runs = new Float64Array(Math.max(8, 4 * length))
  runs.set(buffer.runs.subarray(2 * head, 2 * tail))
  return { buffer: { runs, end: length }, head: 0, tail: length, total, shift }
}

/** Without `given` units of one run, or without that run. */
function withoutUnits(state: Log, run: number, given: number, isWhole: boolean): Log {
  const own = copy(state)
  const { runs } = own.buffer
  const index = run - state.head
  if (isWhole) runs.copyWithin(2 * index, 2 * index + 2, 2 * own.tail)
  const tail = isWhole ? own.tail - 1 : own.tail
  for (let i = isWhole ? index : index + 1; i < tail; i++) runs[2 * i + 1]! -= given
  own.buffer.end = tail
  return { ...own, tail, total: state.total - given }
}
