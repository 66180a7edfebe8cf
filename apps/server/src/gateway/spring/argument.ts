import { parseDuration, TidegateError } from '@tidegate/core'
import { quote } from '../../config-file/config-error.js'
import { formatValue } from '../../config-file/value-kinds.js'
import { compileRegExp, type LinearRegExp } from '../../linear-regexp.js'
import { statusOf } from './status-names.js'

/*
 * Arguments of predicates and filters. A value comes from YAML with its type, or as text from a shortcut, so 5 and "5"
 * are the same.
 */

/** One argument of a predicate or a filter. */
export interface Argument<T> {
  /** Throws `invalid`, whose message follows the name of the argument. */
  read(value: unknown): T
  readonly isRequired: boolean
  /** The default. */
  readonly fallback: T | undefined
}

type Read<T> = (value: unknown) => T

export function required<T>(read: Read<T>): Argument<T> {
  return { read, isRequired: true, fallback: undefined }
}

export function optional<T>(read: Read<T>): Argument<T | undefined> {
  return { read, isRequired: false, fallback: undefined }
}

export function withDefault<T>(read: Read<T>, fallback: T): Argument<T> {
  return { read, isRequired: false, fallback }
}

/** An argument that only Spring supports. `problem` follows the name: "is not supported; remove it". */
export function unsupported(problem: string): Argument<undefined> {
  return optional(() => {
    throw invalid(problem)
  })
}

export function text(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalid(`must be text, got ${formatValue(value)}`)
}

/** The text of a scalar. Empty for a list and an object, which String() cannot convert if there is no prototype. */
export function scalarText(value: unknown): string {
  return typeof value === 'object' ? '' : String(value)
}

export function wholeNumber(min: number, max = 1_000_000_000): Read<number> {
  return (value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number
    throw invalid(
      `must be a whole number from ${min} to ${max.toLocaleString('en')}, got ${formatValue(value)}`,
    )
  }
}

export function number(min: number, max: number): Read<number> {
  return (value) => {
    const number = typeof value === 'string' && /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && number >= min && number <= max) return number
    throw invalid(`must be a number from ${min} to ${max.toLocaleString('en')}, got ${formatValue(value)}`)
  }
}

/** A number per second, or text such as `100/1m`. The policy validates it. */
export function rate(value: unknown): number | string {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && value !== '')
    return /^\d{1,15}(\.\d{1,6})?$/.test(value) ? Number(value) : value
  throw invalid(`must be a number per second, or text such as 100/1m, got ${formatValue(value)}`)
}

/** Milliseconds, or text such as `30s`. The policy validates it. */
export function duration(value: unknown): number | string {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && value !== '') return /^\d{1,15}$/.test(value) ? Number(value) : value
  throw invalid(`must be a duration such as 30s, or milliseconds, got ${formatValue(value)}`)
}

export function flag(value: unknown): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw invalid(`must be true or false, got ${formatValue(value)}`)
}

/** A list, or a string separated by commas. */
export function listOf<T>(read: Read<T>, mayBeEmpty = false): Read<readonly T[]> {
  return (value) => {
    const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : [value].flat()
    const filled = items.filter((item) => item !== '')
    if (filled.length === 0 && !mayBeEmpty) throw invalid('must not be empty')
    return filled.map(read)
  }
}

export function regExp(value: unknown): LinearRegExp {
  const source = text(value)
  const compiled = compileRegExp(source)
  if (!('problem' in compiled)) return compiled
  throw invalid(`${quote(source)} is not a valid regular expression: ${compiled.problem}`)
}

/** Milliseconds, or `10ms`, `5s`, `1m`. */
export function durationMs(value: unknown): number {
  const ms = parseDuration(typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value)
  if (ms !== undefined && Number.isInteger(ms) && ms >= 0 && ms <= HOUR_MS) return ms
  throw invalid(`must be 0ms to 1h, such as 10ms or 5s, got ${formatValue(value)}`)
}

/** Bytes, or `5MB`: as in Spring, a kilobyte has 1,024. */
export function bytes(value: unknown): number {
  const match = /^(\d{1,15})\s*(B|KB|MB|GB|TB)?$/.exec(scalarText(value))
  const size = match === null ? Number.NaN : Number(match[1]) * UNITS[(match[2] ?? 'B') as keyof typeof UNITS]
  if (size >= 1 && Number.isSafeInteger(size)) return size
  throw invalid(`must be a size such as 5MB, or a number of bytes, got ${formatValue(value)}`)
}

/** A status such as `401` or `UNAUTHORIZED`. */
export function status(min: number, max: number): Read<number> {
  return (value) => {
    const status = statusOf(value)
    if (status !== undefined && status >= min && status <= max) return status
    const example = max < 400 ? '302 or FOUND' : '503 or SERVICE_UNAVAILABLE'
    throw invalid(`must be a status from ${min} to ${max}, such as ${example}, got ${formatValue(value)}`)
  }
}

/** A method, in upper case. */
export function method(value: unknown): string {
  const name = text(value).toUpperCase()
  if (/^[!#$%&'*+.^_`|~0-9A-Z-]{1,64}$/.test(name)) return name
  throw invalid(`${formatValue(value)} is not a valid method; write for example GET`)
}

/** Creates the error of a value. The caller adds the position. */
export function invalid(message: string, field?: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, field === undefined ? {} : { field })
}

const HOUR_MS = 3_600_000
const UNITS = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }
