/*
 * Calendar windows in a time zone, from the platform's own time zone data (`Intl`). Times are whole microseconds since
 * the Unix epoch; inside this file also milliseconds, and days since 1970-01-01 on the local calendar.
 *
 * A window begins at the first instant whose local date is in the window or later. This handles a midnight that does not
 * exist or exists twice, and a skipped day, whose window is empty and left out.
 */

export const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

interface CalendarWindow {
  readonly start: number
  /** The start of the next window. */
  readonly end: number
}

export interface CalendarWindows {
  readonly unit: CalendarUnit
  /** The spelling of `timeZoneName`. */
  readonly timeZone: string
  /** The window that contains this instant. */
  windowAt(us: number): CalendarWindow
  /**
   * Five consecutive boundaries around this instant: the starts of the previous, the current and the next two windows, and
   * the end of the last. The same array for every instant of a window.
   */
  boundariesAround(us: number): readonly number[]
}

/** Weeks begin on Monday. `timeZone` is a name that `isTimeZone` accepts. */
export function calendarWindows(unit: CalendarUnit, timeZone = 'UTC'): CalendarWindows {
  const id = `${unit} ${timeZone.toLowerCase()}`
  let windows = windowsById.get(id)
  if (windows === undefined) {
    windows = createWindows(unit, timeZone)
    windowsById.set(id, windows)
  }
  return windows
}

/** Whether the platform has a time zone with this name. */
export function isTimeZone(name: unknown): name is string {
  return timeZoneName(name) !== undefined
}

/**
 * The spelling of a name in the time zone database, or undefined for unknown names. An alias is kept, because platforms
 * disagree about the main name, such as Asia/Calcutta or Asia/Kolkata.
 */
export function timeZoneName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  try {
    const resolved = formatOf(name).resolvedOptions().timeZone
    return resolved.toLowerCase() === name.toLowerCase() ? resolved : name
  } catch {
    return undefined
  }
}

/** Shared, because a policy can be created for each request. Bounded by the number of time zones. */
const windowsById = new Map<string, CalendarWindows>()
const formats = new Map<string, Intl.DateTimeFormat>()

const SECOND_MS = 1000
const DAY_MS = 86_400_000
const US_PER_MS = 1000
/** The number of cached window starts. Checks and refunds near a boundary use the same few. */
const MAX_STARTS = 64

/** Throws a RangeError for an unknown time zone. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const id = timeZone.toLowerCase()
  let format = formats.get(id)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(id, format)
  }
  return format
}

function createWindows(unit: CalendarUnit, timeZone: string): CalendarWindows {
  const format = formatOf(timeZone)
  /** By the first day of each window, in milliseconds. */
  const starts = new Map<number, number>()
  let current: CalendarWindow = { start: 0, end: 0 }
  let around: readonly number[] | undefined

  /** Local time minus UTC. It is always less than a day. */
  function offsetAt(ms: number): number {
    // '12/31/2025, 23:59:59'. Five times as fast as formatToParts.
    const [month, day, year, hour, minute, second] = format.format(ms).match(/\d+/g)!.map(Number)
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - Math.floor(ms / SECOND_MS) * SECOND_MS
  }

  function startOf(day: number): number {
    let start = starts.get(day)
    if (start === undefined) {
      if (starts.size >= MAX_STARTS) starts.clear()
      start = firstInstantOf(day)
      starts.set(day, start)
    }
    return start
  }

  /** The first instant with this local date or a later one. */
  function firstInstantOf(day: number): number {
    const midnight = day * DAY_MS
    let low = midnight - DAY_MS
    let high = midnight + DAY_MS
    const before = offsetAt(low)
    const after = offsetAt(high)
    // No zone has ever changed its offset twice within two days, which calendar.test.ts checks.
    if (before === after) return midnight - before
    while (high - low > SECOND_MS) {
      const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS
      if (offsetAt(middle) === before) low = middle
      else high = middle
    }
    const change = high
    return midnight - before < change ? midnight - before : Math.max(change, midnight - after)
  }

  /** The first day of the window `by` windows after the window of this day. */
  function firstDay(day: number, by: number): number {
    if (unit === 'day') return day + by
    if (unit === 'week') return day - mod(day + DAYS_FROM_MONDAY, 7) + by * 7
    const date = new Date(day * DAY_MS)
    const year = date.getUTCFullYear()
    return (unit === 'month' ? Date.UTC(year, date.getUTCMonth() + by) : Date.UTC(year + by, 0)) / DAY_MS
  }

  /** The window around any instant, in milliseconds. */
  function windowAround(ms: number): CalendarWindow {
    const day = Math.floor((ms + offsetAt(ms)) / DAY_MS)
    let start = startOf(firstDay(day, 0))
    for (let by = 1; ; by++) {
      const end = startOf(firstDay(day, by))
      if (end > ms) return { start, end }
      // The local date stepped back after this window began, or the window is empty.
      start = end
    }
  }

  function windowAt(us: number): CalendarWindow {
    if (us >= current.start && us < current.end) return current
    const { start, end } = windowAround(Math.floor(us / US_PER_MS))
    current = Object.freeze({ start: start * US_PER_MS, end: end * US_PER_MS })
    around = undefined
    return current
  }

  function boundariesAround(us: number): readonly number[] {
    const { start, end } = windowAt(us)
    if (around === undefined) {
      const before = windowAround(start / US_PER_MS - 1)
      const next = windowAround(end / US_PER_MS)
      const last = windowAround(next.end)
      around = Object.freeze([
        before.start * US_PER_MS,
        start,
        end,
        last.start * US_PER_MS,
        last.end * US_PER_MS,
      ])
    }
    return around
  }

  return Object.freeze({ unit, timeZone: timeZoneName(timeZone)!, windowAt, boundariesAround })
}

/** 1970-01-01 was a Thursday. */
const DAYS_FROM_MONDAY = 3

function mod(a: number, n: number): number {
  return ((a % n) + n) % n
}
