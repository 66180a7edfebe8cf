import { parseDuration } from '@tidegate/core'
import type { Route } from '../gateway/route.js'
import type { ConfigDocument } from './document.js'
import type { Path } from './mistakes.js'
import { didYouMean } from './nearest.js'

type Timeouts = Route['timeouts']

/** How long a route waits for its upstreams: its own times, else those in Spring's metadata, else the gateway's. */
export function timeoutsAt(document: ConfigDocument, route: Path, otherwise: Timeouts): Timeouts {
  const spring = metadataAt(document, [...route, 'metadata'])
  const own = (name: string) => durationAt(document, [...route, name])
  return Object.freeze({
    connectMs: own('connectTimeout') ?? spring.connectMs ?? otherwise.connectMs,
    headersMs: own('headersTimeout') ?? spring.headersMs ?? otherwise.headersMs,
    bodyMs: own('bodyTimeout') ?? otherwise.bodyMs,
  })
}

/** Milliseconds; undefined if there is none, or none that is right. */
export function durationAt(document: ConfigDocument, path: Path, fallback?: unknown): number | undefined {
  const given = document.at(path) ?? fallback
  if (given === undefined || !document.isRight(path)) return undefined
  const isDigits = typeof given === 'string' && /^\d{1,15}$/.test(given)
  const ms = parseDuration(isDigits ? Number(given) : given)
  if (ms !== undefined && Number.isInteger(ms) && ms >= 1 && ms <= HOUR_MS) return ms
  document.wrong(path, `must be 1ms to 1h in whole milliseconds, got ${JSON.stringify(given)}`)
  return undefined
}

const HOUR_MS = 3_600_000
const IN_METADATA = ['connect-timeout', 'response-timeout']

/** Other values are for filters of somebody's own, which there are not; but a slip of the pen is told. */
function metadataAt(
  document: ConfigDocument,
  path: Path,
): { connectMs?: number | undefined; headersMs?: number | undefined } {
  const metadata = document.at(path)
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return {}
  for (const name of Object.keys(metadata)) {
    if (IN_METADATA.includes(name)) continue
    const instead = didYouMean(name, IN_METADATA)
    if (instead !== undefined) document.wrong([...path, name], `is not known here; ${instead}`, 'key')
    if (name === 'cors') {
      document.wrong([...path, name], 'is not supported; let the upstream answer CORS', 'key')
    }
  }
  return {
    connectMs: durationAt(document, [...path, 'connect-timeout']),
    headersMs: durationAt(document, [...path, 'response-timeout']),
  }
}
