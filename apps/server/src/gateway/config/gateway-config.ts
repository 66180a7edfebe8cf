import type { Policy } from '@tidegate/core'
import type { Template } from '@tidegate/http'
import { type Path, quote } from '../../config-file/config-error.js'
import { readConnections } from '../../config-file/connection-limits.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { collectError } from '../../config-file/factory.js'
import { optionOf } from '../../config-file/options.js'
import type { ConnectionLimits } from '../../http/connection-guard.js'
import type { CorsRule } from '../cors/cors.js'
import { BUILT_IN_RESOLVERS, parseResolver } from '../spring/key-resolvers.js'
import { readCorsRules } from './cors-rules.js'
import { warnOfFallbacks } from './fallback-warnings.js'
import { type Listen, readListen } from './listen.js'
import { createRouteReader, type RouteConfig, type RouteReferences } from './route-reader.js'
import { springDurationAt } from './spring-duration.js'
import { SPRING_PLACES } from './spring-file.js'

/** The validated configuration of the gateway, with defaults. */
export interface GatewayConfig {
  readonly listen: Listen
  /** In the order of the file. */
  readonly routes: readonly RouteConfig[]
  /** The policies that filters of routes define. */
  readonly policies: readonly Policy[]
  /** Pages of other origins that may call the gateway. */
  readonly cors: readonly CorsRule[]
  /** Connections of clients. */
  readonly connections: ConnectionLimits
  /** Connections to one upstream. */
  readonly maxConnections: number
  /** Bytes per second; 0: any. */
  readonly minBodyRate: number
  readonly accessLog: 'off' | 'json' | 'combined'
}

const GATEWAY: Path = ['gateway']

/** Undefined if the file has no gateway. */
export function readGateway(document: ConfigDocument, file: RouteReferences): GatewayConfig | undefined {
  const places = [GATEWAY, ...SPRING_PLACES.filter((place) => document.at([...place, 'enabled']) !== false)]
  const isConfigured =
    document.at(GATEWAY) !== undefined || places.some((place) => hasRoutes(document, place))
  if (!isConfigured) return undefined
  const option = optionOf(document)
  const timeoutMs = (name: string, springName: string) => {
    const paths = SPRING_PLACES.map((place) => [...place, 'httpclient', springName])
    const spring =
      document.at([...GATEWAY, name]) === undefined
        ? paths.map((path) => springDurationAt(document, path))
        : []
    return spring.find((ms) => ms !== undefined) ?? option.durationMs(['gateway', name])
  }
  const reader = createRouteReader(document, {
    ...file,
    resolvers: readResolvers(document),
    ignoredFilters: new Set(ignoredFilters(document)),
    defaultFilters: places.flatMap((place) =>
      ['defaultFilters', 'default-filters'].flatMap((name) => pathsIn(document, [...place, name])),
    ),
    timeouts: {
      connectMs: timeoutMs('connectTimeout', 'connect-timeout'),
      headersMs: timeoutMs('headersTimeout', 'response-timeout'),
      bodyMs: option.durationMs(['gateway', 'bodyTimeout']),
    },
  })
  const paths = places.flatMap((place) => pathsIn(document, [...place, 'routes']))
  if (paths.length === 0) {
    document.addError(
      ['gateway', 'routes'],
      'is missing; write for example routes: [{ uri: http://localhost:8081 }]',
    )
  }
  const routes = paths.flatMap((path) => reader.routeAt(path) ?? [])
  reader.finish()
  warnOfFallbacks(document, routes)
  return Object.freeze({
    listen: readListen(document, file.port),
    routes: Object.freeze(routes),
    policies: Object.freeze(reader.policies()),
    cors: Object.freeze(readCorsRules(document)),
    connections: readConnections(document, ['gateway']),
    maxConnections: option.wholeNumber('gateway', 'maxConnections'),
    minBodyRate: option.wholeNumber('gateway', 'minBodyRate'),
    accessLog: option.text('gateway', 'accessLog') as GatewayConfig['accessLog'],
  })
}

function ignoredFilters(document: ConfigDocument): string[] {
  const path = [...GATEWAY, 'ignoreFilters']
  const names = document.isValid(path) ? document.at(path) : undefined
  return Array.isArray(names) ? (names as string[]) : []
}

function hasRoutes(document: ConfigDocument, place: Path): boolean {
  return ['routes', 'default-filters'].some((name) => document.at([...place, name]) !== undefined)
}

/** The paths of the entries of a list. */
function pathsIn(document: ConfigDocument, path: Path): Path[] {
  const list = document.at(path)
  return Array.isArray(list) ? list.map((_, i) => [...path, i]) : []
}

function readResolvers(document: ConfigDocument): Map<string, Template> {
  const resolvers = new Map(BUILT_IN_RESOLVERS)
  const path = ['gateway', 'keyResolvers']
  const entries = document.at(path)
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) return resolvers
  for (const [name, text] of Object.entries(entries)) {
    const at = [...path, name]
    if (!/^[\w$-]+$/.test(name)) {
      const message = `the name must have only letters, digits, _, $ and -, such as userKeyResolver, got ${quote(name)}`
      document.addError(at, message, 'key')
    }
    if (typeof text !== 'string') continue
    collectError(document, at, () => resolvers.set(name, parseResolver(text)))
    // Defined also after an error, so that references to it are not reported.
    if (!resolvers.has(name)) resolvers.set(name, parseResolver("'stand-in'"))
  }
  return resolvers
}
