import { canonicalPath } from '@tidegate/http'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import type { HealthCheck } from '../route.js'
import { durationAt } from './route-timeouts.js'

/** Reads the health check of a route; undefined if it has none. */
export function healthCheckAt(document: ConfigDocument, path: Path): HealthCheck | undefined {
  const entry = document.at(path)
  if (typeof entry !== 'object' || entry === null) return undefined
  const { path: url } = entry as { path?: unknown }
  const target = typeof url === 'string' ? canonicalPath(url) : undefined
  if (typeof url === 'string' && target === undefined) {
    document.addError([...path, 'path'], `${quote(url)} is not a valid path; write for example /health`)
  }
  const ms = (name: string) =>
    durationAt(document, [...path, name], document.schemaAt([...path, name])?.default) ?? 1
  return Object.freeze({
    path: target === undefined ? '/' : `${target.path}${target.query === '' ? '' : `?${target.query}`}`,
    intervalMs: ms('interval'),
    timeoutMs: ms('timeout'),
  })
}
