import type { Policy } from '@tidegate/core'
import type { Template } from '@tidegate/http'
import type { ConnectionLimits } from '../connections.js'
import { BUILT_IN_RESOLVERS, parseResolver } from '../gateway/key-resolvers.js'
import { readConnections } from './connections.js'
import type { ConfigDocument } from './document.js'
import { isTaken } from './factory.js'
import { type Listen, readListen } from './listen.js'
import type { Path } from './mistakes.js'
import { optionOf } from './options.js'
import { createRouteReader, type InFile, type RouteConfig } from './route.js'
import { GATEWAY } from './spring.js'

/** The proxy, checked and with its defaults. */
export interface GatewayConfig {
  readonly listen: Listen
  /** In the order of the file. */
  readonly routes: readonly RouteConfig[]
  /** The policies that filters of routes have brought along. */
  readonly policies: readonly Policy[]
  /** Of clients. */
  readonly connections: ConnectionLimits
  /** To one upstream. */
  readonly maxConnections: number
  /** Bytes per second; 0: any. */
  readonly minBodyRate: number
  readonly accessLog: 'off' | 'json' | 'combined'
}

/** Where routes may stand: ours, and the two places that Spring has for them. */
const PLACES: readonly Path[] = [['gateway'], GATEWAY, [...GATEWAY, 'server', 'webflux']]

/** Undefined if the file has no gateway. */
export function readGateway(document: ConfigDocument, file: InFile): GatewayConfig | undefined {
  const isThere = document.at(['gateway']) !== undefined || PLACES.some((place) => hasRoutes(document, place))
  if (!isThere) return undefined
  const option = optionOf(document)
  const reader = createRouteReader(document, {
    ...file,
    resolvers: readResolvers(document),
    defaultFilters: PLACES.flatMap((place) =>
      ['defaultFilters', 'default-filters'].flatMap((name) => pathsIn(document, [...place, name])),
    ),
    timeouts: {
      connectMs: option.durationMs(['gateway', 'connectTimeout']),
      headersMs: option.durationMs(['gateway', 'headersTimeout']),
      bodyMs: option.durationMs(['gateway', 'bodyTimeout']),
    },
  })
  const paths = PLACES.flatMap((place) => pathsIn(document, [...place, 'routes']))
  if (paths.length === 0) {
    document.wrong(
      ['gateway', 'routes'],
      'are missing; write for example routes: [{ uri: http://localhost:8081 }]',
    )
  }
  const routes = paths.flatMap((path) => reader.routeAt(path) ?? [])
  reader.finish()
  return Object.freeze({
    listen: readListen(document, file.port),
    routes: Object.freeze(routes),
    policies: Object.freeze(reader.policies()),
    connections: readConnections(document, ['gateway']),
    maxConnections: option.whole('gateway', 'maxConnections'),
    minBodyRate: option.whole('gateway', 'minBodyRate'),
    accessLog: option.text('gateway', 'accessLog') as GatewayConfig['accessLog'],
  })
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
      document.wrong(at, 'must be letters, digits, _, $ and -, as in userKeyResolver', 'key')
    }
    if (typeof text !== 'string') continue
    isTaken(document, at, () => resolvers.set(name, parseResolver(text)))
    // One with a mistake is there all the same: who refers to it has made none.
    if (!resolvers.has(name)) resolvers.set(name, parseResolver("'stand-in'"))
  }
  return resolvers
}
