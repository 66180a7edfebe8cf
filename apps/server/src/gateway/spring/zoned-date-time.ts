import { quote } from '../../config-file/config-error.js'
import { invalid, text } from './argument.js'

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)(?:\[([\w+/-]{1,64})\])?$/

/**
 * `2017-01-20T17:42:47.789-07:00[America/Denver]` as milliseconds since 1970. The offset is used; the zone in brackets must
 * be valid, and is ignored. A number of milliseconds is accepted too.
 */
export function zonedDateTimeMs(value: unknown): number {
  const written = text(value)
  if (/^\d{1,15}$/.test(written)) return Number(written)
  const match = ISO.exec(written)
  if (match !== null) {
    const [, year, month, day, hour, minute, second = '00', fraction = '0', offset = 'Z', zone] = match
    const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
    const asUtc = Date.parse(`${local}Z`)
    // Date.parse would turn an invalid day such as February 30 into another day.
    const isReal = !Number.isNaN(asUtc) && new Date(asUtc).toISOString().startsWith(local)
    const ms = Date.parse(`${local}.${fraction.padEnd(3, '0').slice(0, 3)}${offset}`)
    if (isReal && !Number.isNaN(ms) && (zone === undefined || isZone(zone))) return ms
  }
  throw invalid(
    `${quote(written)} is not a valid time; write for example 2017-01-20T17:42:47.789-07:00 or 2017-01-20T17:42:47Z`,
  )
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
