import { canonicalPath } from '@tidegate/http'
import type { HealthCheck } from '../gateway/route.js'
import type { ConfigDocument } from './document.js'
import { type JsonSchema, schemaOf } from './json-schema.js'
import { type Path, quoted } from './mistakes.js'
import { durationAt } from './route-timeouts.js'
import { valueSchema } from './schema.js'

const SCHEMA = ['gateway', 'routes', 0, 'healthCheck'].reduce<JsonSchema | undefined>(schemaOf, valueSchema)

/** How the upstreams of a route are asked whether they are well; undefined if they are not. */
export function healthCheckAt(document: ConfigDocument, path: Path): HealthCheck | undefined {
  const entry = document.at(path)
  if (typeof entry !== 'object' || entry === null) return undefined
  const given = (entry as { path?: unknown }).path
  const target = typeof given === 'string' ? canonicalPath(given) : undefined
  if (typeof given === 'string' && target === undefined) {
    document.wrong([...path, 'path'], `${quoted(given)} is no path; write for example /health`)
  }
  const ms = (name: string) => durationAt(document, [...path, name], schemaOf(SCHEMA, name)?.default) ?? 1
  return Object.freeze({
    path: target === undefined ? '/' : `${target.path}${target.query === '' ? '' : `?${target.query}`}`,
    intervalMs: ms('interval'),
    timeoutMs: ms('timeout'),
  })
}
