import type { ConfigDocument } from './document.js'
import { type Path, quoted } from './mistakes.js'

/** Where a route sends requests. */
export interface Upstreams {
  /** Origins such as `http://localhost:8081`. */
  readonly origins: readonly string[]
  /** Whether the route is meant for WebSockets. */
  readonly isWebSocket: boolean
  /** Whether there is to be none. */
  readonly isNone: boolean
}

export function readUpstreams(document: ConfigDocument, path: Path): Upstreams {
  const given = document.at(path)
  const entries = Array.isArray(given)
    ? given.map((uri, i) => ({ uri, at: [...path, i] }))
    : [{ uri: given, at: path }]
  const origins: string[] = []
  let isWebSocket = false
  let isNone = false
  for (const { uri, at } of entries) {
    if (typeof uri !== 'string' || !document.isRight(at)) continue
    if (uri === 'no://op') {
      isNone = true
      if (entries.length > 1)
        document.wrong(at, 'no://op is for a route without upstreams; remove it or the others')
      continue
    }
    const read = originOf(uri)
    if (typeof read === 'string') {
      document.wrong(at, read)
      continue
    }
    if (origins.includes(read.origin)) document.wrong(at, 'is in the list twice; keep one')
    origins.push(read.origin)
    isWebSocket ||= read.isWebSocket
  }
  return { origins, isWebSocket, isNone }
}

const SCHEMES: Readonly<Record<string, string>> = { http: 'http', https: 'https', ws: 'http', wss: 'https' }

/** The origin, or what is wrong with it. A password that may be in it is not shown. */
function originOf(uri: string): { origin: string; isWebSocket: boolean } | string {
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(uri)?.[1]?.toLowerCase()
  if (scheme === 'lb' || uri.toLowerCase().startsWith('lb:')) {
    return `lb: is not supported: there is no service discovery here; write the addresses themselves, such as [http://host1:8080, http://host2:8080]`
  }
  if (scheme === 'forward')
    return 'forward: is not supported: the gateway has no pages of its own; write an address'
  if (
    scheme === undefined ||
    !Object.hasOwn(SCHEMES, scheme) ||
    !uri.slice(scheme.length).startsWith('://')
  ) {
    const shown = uri.includes('@') ? 'this' : quoted(uri)
    return `${shown} is no address of an upstream; write for example http://localhost:8081`
  }
  const asHttp = `${SCHEMES[scheme]}${uri.slice(scheme.length)}`
  if (!URL.canParse(asHttp)) return 'is no address of an upstream; write for example http://localhost:8081'
  const url = new URL(asHttp)
  if (url.username !== '' || url.password !== '') {
    return 'has a user or a password in it, which is not sent; use SetRequestHeader=Authorization, … instead'
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return `${quoted(uri)} has more than scheme, host and port, which is never used; for a path write PrefixPath`
  }
  return { origin: url.origin, isWebSocket: scheme.startsWith('ws') }
}
