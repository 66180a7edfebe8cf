import { show, type TidegateError } from '../errors.js'
import { CALENDAR_UNITS, type CalendarUnit, calendarWindows, isTimeZone } from '../units/calendar.js'
import { MAX_DURATION_MS, parseDuration } from '../units/duration.js'
import { fits, nearestFittingRate, parseRate, type Rate } from '../units/rate.js'
import { invalidPolicy } from './invalid-policy.js'
import type { OnStoreFailure, Policy } from './policy.js'
import { warnIfSuspicious } from './suspicious.js'

/*
 * Each function validates one option of a policy and returns its value or default. A message has the received value, the
 * accepted values and an example.
 */

/** The window, rate or ttl of a policy, with its options. */
export interface PaceFields {
  /** The value in JSON. */
  value: number | Rate
  /** The options beside it, in order; undefined for defaults, which JSON omits. */
  options: Record<string, unknown>
  /** The parts of the generated name. */
  inName: (string | number)[]
  /** The properties that the algorithm needs. */
  derived: Record<string, unknown>
}

const MAX_LIMIT: Record<Policy['algorithm'], number> = {
  'fixed-window': 10 ** 15 - 1,
  'sliding-window-log': 100_000,
  'sliding-window-counter': 1_000_000_000,
  'token-bucket': 1_000_000_000,
  'leaky-bucket': 1_000_000_000,
  concurrency: 100_000,
}

export function limitOf(algorithm: Policy['algorithm'], field: string, value: unknown): number {
  const max = MAX_LIMIT[algorithm]
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number
  if (value === undefined) throw missing(field, algorithm === 'concurrency' ? '10' : '100')
  const instead =
    algorithm === 'sliding-window-log' && typeof value === 'number' && value > max
      ? 'A log keeps the time of every unit; for more, use sliding-window-counter.'
      : `Write for example ${field}: 100.`
  throw invalidPolicy(
    field,
    `${field} must be a whole number from 1 to ${max.toLocaleString('en')}, got ${show(value)}. ${instead}`,
  )
}

function missing(field: string, example: string): TidegateError {
  return invalidPolicy(field, `${field} is missing; write ${field}: ${example}.`)
}

export function windowOf(algorithm: Policy['algorithm'], input: Record<string, unknown>): PaceFields {
  const { window, start = 'epoch', timeZone } = input
  if (window === undefined) throw missing('window', "'1m'")
  const isCalendar = algorithm === 'fixed-window' && CALENDAR_UNITS.includes(window as CalendarUnit)
  if (start !== 'epoch' && start !== 'first-request') {
    throw invalidPolicy(
      'start',
      `start must be 'epoch' (windows aligned to the clock) or 'first-request', got ${show(start)}. Leave it out for 'epoch'.`,
    )
  }
  if (isCalendar && start === 'first-request') {
    throw invalidPolicy(
      'start',
      `start must be left out for a calendar window, which begins with its ${window}, got ${show(start)}. For windows that begin with the first request, write for example window: '1d'.`,
    )
  }
  if (isCalendar) return calendarOf(window as CalendarUnit, timeZone)
  if (timeZone !== undefined) {
    throw invalidPolicy(
      'timeZone',
      `timeZone needs a calendar window, got window: ${show(window)}. Write window: 'day', 'week', 'month' or 'year', or leave timeZone out.`,
    )
  }
  const ms = parseDuration(window)
  if (ms === undefined || !Number.isInteger(ms) || ms < 1 || ms > MAX_DURATION_MS) {
    const calendar = algorithm === 'fixed-window' ? ", or 'day', 'week', 'month' or 'year'" : ''
    throw invalidPolicy(
      'window',
      `window must be 1 ms to 366 d in whole milliseconds, got ${show(window)}. Write for example '500ms', '30s', '1m', '2h' or '1d'${calendar}.`,
    )
  }
  warnIfSuspicious('window', window)
  const isFirst = start === 'first-request'
  const derived = { windowUs: ms * 1000 }
  if (algorithm !== 'fixed-window') return { value: ms, options: {}, inName: [ms], derived }
  return {
    value: ms,
    options: { start: isFirst ? start : undefined, timeZone: undefined },
    inName: isFirst ? [ms, 'first'] : [ms],
    derived: { ...derived, windowKind: start, calendar: undefined },
  }
}

function calendarOf(unit: CalendarUnit, timeZone: unknown = 'UTC'): PaceFields {
  if (!isTimeZone(timeZone)) {
    throw invalidPolicy(
      'timeZone',
      `timeZone must be a time zone such as 'UTC', 'Asia/Seoul' or 'America/New_York', got ${show(timeZone)}.`,
    )
  }
  const calendar = calendarWindows(unit, timeZone)
  return {
    value: unit,
    options: { start: undefined, timeZone: calendar.timeZone },
    inName: [unit, calendar.timeZone],
    derived: { windowUs: NOMINAL_DAYS[unit] * 86_400_000_000, windowKind: 'calendar', calendar },
  }
}

/** The length of the longest window of a unit, ignoring daylight saving time. */
const NOMINAL_DAYS: Record<CalendarUnit, number> = { day: 1, week: 7, month: 31, year: 366 }

export function rateOf(field: string, value: unknown, capacity: number): PaceFields {
  if (value === undefined) throw missing(field, "'100/1m'")
  const rate = parseRate(value)
  if (rate === undefined) {
    throw invalidPolicy(
      field,
      `${field} must be units per second, above 0 and below 2^53, or units per duration of 1 ms to 366 d, got ${show(value)}. Write for example 10 or '100/1m'.`,
    )
  }
  if (!fits(capacity, rate)) {
    throw invalidPolicy(
      field,
      `${field} ${show(value)} cannot be counted exactly with a capacity of ${capacity}. The nearest rate that can is '${nearestFittingRate(capacity, rate)}'.`,
    )
  }
  const [n, d] = [Number(rate.n), Number(rate.d)]
  const full = capacity * d
  const derived = { n, d, full, spanUs: Math.floor(full / n) }
  return { value: value as Rate, options: {}, inName: [n, d], derived }
}

export function ttlOf(value: unknown = '30s'): PaceFields {
  const ms = parseDuration(value)
  if (ms === undefined || !Number.isInteger(ms) || ms < 1000 || ms > MAX_TTL_MS) {
    throw invalidPolicy(
      'ttl',
      `ttl must be 1 s to 1 d in whole milliseconds, got ${show(value)}. Write for example '1m', or leave it out for '30s'.`,
    )
  }
  warnIfSuspicious('ttl', value)
  return { value: ms, options: {}, inName: [ms], derived: { ttlUs: ms * 1000 } }
}

const MAX_TTL_MS = 86_400_000

/** Milliseconds; 0 for no block. */
export function blockForOf(value: unknown): number {
  if (value === undefined) return 0
  const ms = parseDuration(value)
  if (ms === undefined || !Number.isInteger(ms) || ms < 1 || ms > MAX_DURATION_MS) {
    throw invalidPolicy(
      'blockFor',
      `blockFor must be 1 ms to 366 d in whole milliseconds, got ${show(value)}. Write for example '15m', or leave it out for no block.`,
    )
  }
  warnIfSuspicious('blockFor', value)
  return ms
}

export function countDeniedOf(value: unknown = false): boolean {
  if (typeof value === 'boolean') return value
  throw invalidPolicy(
    'countDenied',
    `countDenied must be true (denied requests are charged too) or false, got ${show(value)}. Leave it out for false.`,
  )
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

export function nameOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && NAME.test(value)) return value
  throw invalidPolicy(
    'name',
    `name must be 1 to 64 of a-z, 0-9, "_" and "-", beginning with a letter or digit, got ${show(value)}. Write for example 'per-user'.`,
  )
}

const ON_STORE_FAILURE: readonly unknown[] = ['open', 'closed', 'local'] satisfies OnStoreFailure[]

export function onStoreFailureOf(value: unknown = 'open'): OnStoreFailure {
  if (ON_STORE_FAILURE.includes(value)) return value as OnStoreFailure
  throw invalidPolicy(
    'onStoreFailure',
    `onStoreFailure must be 'open' (allow), 'closed' (deny) or 'local' (count in this process), got ${show(value)}. Leave it out for 'open'.`,
  )
}

export function instancesOf(value: unknown = 1): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number
  throw invalidPolicy(
    'instances',
    `instances must be a whole number of at least 1, got ${show(value)}. Write how many processes share the limit, for example instances: 3.`,
  )
}
