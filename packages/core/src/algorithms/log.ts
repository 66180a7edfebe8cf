/**
 * The times of units, grouped into runs of units with the same time. Run i is a pair of numbers: its time at `runs[2i]`,
 * and the number of units before it at `runs[2i + 1]`. With this running total, the units between two runs are one
 * subtraction, and a binary search finds the run that must expire before a cost fits.
 *
 * A log is a view of its array: the runs from `head` up to but not including `tail`. Arrays are append-only, so a new log
 * shares the array of the log it was made from, and the older log stays valid.
 */
export interface Log {
  readonly runs: number[]
  readonly head: number
  readonly tail: number
  /** The running total at the tail. */
  readonly total: number
  /** The running total of the units that no longer count. It can lie within the first run. */
  readonly base: number
  /** Added to every time in the array, so that a log can move to another clock without changing its runs. */
  readonly shift: number
}

export function timeOf({ runs, shift }: Log, run: number): number {
  return runs[2 * run]! + shift
}

/** The time of the newest unit; 0 if there is none. */
export function newestTime(log: Log): number {
  return log.head === log.tail ? 0 : timeOf(log, log.tail - 1)
}

export function unitsIn({ total, base }: Log): number {
  return total - base
}

export function unitsOf(log: Log, run: number): number {
  return unitsBefore(log, run + 1) - Math.max(log.base, unitsBefore(log, run))
}

function unitsBefore({ runs, tail, total }: Log, run: number): number {
  return run === tail ? total : runs[2 * run + 1]!
}

/** The time of the `number`th oldest unit. */
export function timeOfUnit(log: Log, number: number): number {
  const target = log.base + number
  return timeOf(log, firstRun(log, (run) => unitsBefore(log, run) >= target) - 1)
}

/** Returns the log without the units whose time is `time` or earlier. */
export function dropUntil(log: Log, time: number): Log {
  if (log.head === log.tail || timeOf(log, log.head) > time) return log
  const head = firstRun(log, (run) => timeOf(log, run) > time)
  return { ...log, head, base: unitsBefore(log, head) }
}

/** Returns the log with `units` more at `time`, which must not be before the newest unit. */
export function append(log: Log, time: number, units: number): Log {
  if (log.head === log.tail) return { runs: [time, 0], head: 0, tail: 1, total: units, base: 0, shift: 0 }
  if (newestTime(log) === time) return { ...log, total: log.total + units }
  const { runs, head, tail, total, base, shift } = canGrow(log) ? log : copy(log)
  runs.push(time - shift, total)
  return { runs, head, tail: tail + 1, total: total + units, base, shift }
}

/** Returns the log with at most the newest `units`. */
export function keepNewest(log: Log, units: number): Log {
  const base = log.total - units
  if (base <= log.base) return log
  return { ...log, head: firstRun(log, (run) => unitsBefore(log, run + 1) > base), base }
}

/** Returns the log without `count` units of one run, and without the run if none of its units are left. */
export function removeUnits(log: Log, run: number, count: number): Log {
  const { runs, tail, total, base, shift } = copy(log)
  const index = run - log.head
  const isWholeRun = count === unitsOf(log, run)
  if (isWholeRun) runs.splice(2 * index, 2)
  const length = isWholeRun ? tail - 1 : tail
  for (let i = isWholeRun ? index : index + 1; i < length; i++) runs[2 * i + 1]! -= count
  return { runs, head: 0, tail: length, total: total - count, base, shift }
}

/** The first run for which `matches` is true, or `tail`. It must be true for all runs after the first. */
export function firstRun({ head, tail }: Log, matches: (run: number) => boolean): number {
  // The run is nearly always close to the head: double the step until the run is passed, then bisect.
  let low = head
  let step = 1
  while (low + step <= tail && !matches(low + step - 1)) {
    low += step
    step *= 2
  }
  let high = Math.min(low + step - 1, tail)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (matches(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Whether the next run can be appended to the same array: the place is free, and most runs are still needed. */
function canGrow({ runs, head, tail }: Log): boolean {
  return runs.length === 2 * tail && head <= Math.max(MIN_DROPPED, tail - head)
}

/** The same log in a new array, without the runs before its head. Amortized, an append copies one run. */
function copy({ runs, head, tail, total, base, shift }: Log): Log {
  return { runs: runs.slice(2 * head, 2 * tail), head: 0, tail: tail - head, total, base, shift }
}

/** An array can always keep this many dropped runs, even if the log is short. */
const MIN_DROPPED = 8
