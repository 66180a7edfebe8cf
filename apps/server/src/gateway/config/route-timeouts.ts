import { parseDuration } from '@tidegate/core'
import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { didYouMean } from '../../config-file/suggestions.js'
import type { Route } from '../route.js'

type Timeouts = Route['timeouts']

/** Reads the timeouts of a route: its own, else those of Spring's metadata, else those of the gateway. */
export function timeoutsAt(document: ConfigDocument, route: Path, otherwise: Timeouts): Timeouts {
  const spring = metadataAt(document, [...route, 'metadata'])
  const own = (name: string) => durationAt(document, [...route, name])
  return Object.freeze({
    connectMs: own('connectTimeout') ?? spring.connectMs ?? otherwise.connectMs,
    headersMs: own('headersTimeout') ?? spring.headersMs ?? otherwise.headersMs,
    bodyMs: own('bodyTimeout') ?? otherwise.bodyMs,
  })
}

/** Reads a duration in milliseconds; undefined if it is missing or invalid. */
export function durationAt(document: ConfigDocument, path: Path, fallback?: unknown): number | undefined {
  const value = document.at(path) ?? fallback
  if (value === undefined || !document.isValid(path)) return undefined
  const isDigits = typeof value === 'string' && /^\d{1,15}$/.test(value)
  const ms = parseDuration(isDigits ? Number(value) : value)
  if (ms !== undefined && Number.isInteger(ms) && ms >= 1 && ms <= HOUR_MS) return ms
  document.addError(path, `must be 1ms to 1h in whole milliseconds, got ${JSON.stringify(value)}`)
  return undefined
}

const HOUR_MS = 3_600_000
const IN_METADATA = ['connect-timeout', 'response-timeout']

/** In Spring, a response timeout of 0 or less switches the timeout off. */
function isOff(value: unknown): boolean {
  return typeof value === 'number' && value <= 0
}

/** Reads the timeouts in Spring's metadata. Other metadata is ignored, but misspelled names are reported. */
function metadataAt(
  document: ConfigDocument,
  path: Path,
): { connectMs?: number | undefined; headersMs?: number | undefined } {
  const metadata = document.at(path)
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return {}
  for (const name of Object.keys(metadata)) {
    if (IN_METADATA.includes(name)) continue
    const advice = didYouMean(name, IN_METADATA)
    if (advice !== undefined) document.addError([...path, name], `unknown option; ${advice}`, 'key')
    if (name === 'cors') {
      document.addWarning(
        [...path, name],
        'has no effect; write gateway: { cors: { /api/**: { allowedOrigins: [https://app.example.com] } } }',
        'key',
      )
    }
  }
  return {
    connectMs: durationAt(document, [...path, 'connect-timeout']),
    headersMs: isOff(document.at([...path, 'response-timeout']))
      ? HOUR_MS
      : durationAt(document, [...path, 'response-timeout']),
  }
}
