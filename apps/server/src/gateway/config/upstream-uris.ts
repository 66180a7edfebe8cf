import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { instancesOf } from './service-instances.js'

/** The upstreams of a route. */
export interface UpstreamUris {
  /** Origins such as `http://localhost:8081`. */
  readonly origins: readonly string[]
  /** Whether the route is meant for WebSockets. */
  readonly isWebSocket: boolean
  /** Whether the route has no upstream: `no://op`. */
  readonly isNone: boolean
}

interface Entry {
  readonly uri: unknown
  readonly at: Path
}

export function readUpstreamUris(document: ConfigDocument, path: Path): UpstreamUris {
  const value = document.at(path)
  const entries = (
    Array.isArray(value)
      ? value.map((uri, i): Entry => ({ uri, at: [...path, i] }))
      : [{ uri: value, at: path }]
  ).flatMap((entry) => addressesOf(document, entry))
  const origins: string[] = []
  let isWebSocket = false
  let isNone = false
  for (const { uri, at } of entries) {
    if (typeof uri !== 'string' || !document.isValid(at)) continue
    if (uri === 'no://op') {
      isNone = true
      if (entries.length > 1)
        document.addError(
          at,
          'no://op is only for a route without upstreams; remove it, or remove the other uris',
        )
      continue
    }
    const read = originOf(uri)
    if (typeof read === 'string') {
      document.addError(at, read)
      continue
    }
    if (read.rest !== '') reportPath(document, at, uri)
    if (origins.includes(read.origin)) document.addError(at, `duplicate upstream ${read.origin}; keep one`)
    origins.push(read.origin)
    isWebSocket ||= read.isWebSocket
  }
  return { origins, isWebSocket, isNone }
}

/** Resolves `lb://service` and `lb:ws://service` to the instances of the service. */
function addressesOf(document: ConfigDocument, { uri, at }: Entry): Entry[] {
  const match = typeof uri === 'string' ? /^lb:(?:(wss?|https?):)?\/\/([^/?#]*)/i.exec(uri) : null
  if (match === null || !document.isValid(at)) return [{ uri, at }]
  const [, scheme, service = ''] = match
  const instances = instancesOf(document, service)
  if (instances.length === 0) {
    document.addError(
      at,
      `unknown service ${quote(service)}: service discovery is not supported; write spring.cloud.discovery.client.simple.instances.${service || 'name'}: [{ uri: http://host:8080 }], or the addresses themselves`,
    )
  }
  return instances.map((instance) =>
    scheme === undefined
      ? instance
      : { uri: String(instance.uri).replace(/^https?/i, scheme), at: instance.at },
  )
}

/** Reports a path in an address. In a Spring file it is only a warning, because Spring ignores it too. */
function reportPath(document: ConfigDocument, at: Path, uri: string): void {
  const message = `only scheme, host and port of ${quote(uri)} are used; for a path, add the filter PrefixPath`
  if (at[0] === 'spring') document.addWarning(at, message)
  else document.addError(at, message)
}

const SCHEMES: Readonly<Record<string, string>> = { http: 'http', https: 'https', ws: 'http', wss: 'https' }

function notAnUpstream(got: string): string {
  return `must be scheme, host and port, such as http://localhost:8081${got}`
}

/** Parses an address. Returns the error as text, without a password. */
function originOf(uri: string): { origin: string; rest: string; isWebSocket: boolean } | string {
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(uri)?.[1]?.toLowerCase()
  if (scheme === 'forward')
    return 'forward: is not supported as uri, because the gateway has no controllers; write for example http://localhost:8081'
  if (
    scheme === undefined ||
    !Object.hasOwn(SCHEMES, scheme) ||
    !uri.slice(scheme.length).startsWith('://')
  ) {
    return notAnUpstream(uri.includes('@') ? '' : `, got ${quote(uri)}`)
  }
  const asHttp = `${SCHEMES[scheme]}${uri.slice(scheme.length)}`
  if (!URL.canParse(asHttp)) return notAnUpstream('')
  const url = new URL(asHttp)
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a user or password; add for example the filter SetRequestHeader=Authorization, Basic …'
  }
  const path = url.pathname === '/' ? '' : url.pathname
  return { origin: url.origin, rest: path + url.search + url.hash, isWebSocket: scheme.startsWith('ws') }
}
