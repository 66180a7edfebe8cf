import { parseDuration } from '@tidegate/core'
import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'

const ISO = /^P(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?$/i

/** Parses `2000`, `2s` or `PT2S` as milliseconds; undefined for anything else. */
export function parseSpringDuration(value: unknown): number | undefined {
  const text = String(value)
  const iso = ISO.exec(text)
  if (iso !== null && text.length > 2) {
    const [days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0))
    return Math.round((((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!) * 1000)
  }
  return parseDuration(/^\d{1,15}$/.test(text) ? Number(text) : value)
}

/** Reads a duration from 1 ms to an hour; undefined if it is missing or invalid. */
export function springDurationAt(document: ConfigDocument, path: Path): number | undefined {
  const value = document.at(path)
  if (value === undefined || !document.isValid(path)) return undefined
  const ms = parseSpringDuration(value)
  if (ms !== undefined && Number.isInteger(ms) && ms >= 1 && ms <= HOUR_MS) return ms
  document.addError(path, `must be 1ms to 1h, such as 2000, 2s or PT2S, got ${JSON.stringify(value)}`)
  return undefined
}

const HOUR_MS = 3_600_000
