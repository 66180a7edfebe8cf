import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  type Address,
  type CanonicalTarget,
  clientAddress,
  formatAddress,
  type Proxies,
} from '@tidegate/http'
import { isAboutClient } from './forwarded-headers.js'
import { isSameToCgi } from './header-names.js'
import { namedByConnection } from './hop-by-hop.js'
import type { Peer } from './peer.js'
import type { GatewayRequest } from './route.js'

/** A class, because most facts are asked for by few routes, and reading them all for each request costs. */
export class RequestFactsOf implements GatewayRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly timeMs: number
  readonly peer: Peer
  /** What the client wants us to keep to ourselves; what counts is what the upstream is told, too. */
  readonly named: ReadonlySet<string> | undefined
  private readonly headers: IncomingHttpHeaders
  private readonly rawHeaders: readonly string[]
  private readonly proxies: Proxies
  private known: Address | undefined

  constructor(
    message: IncomingMessage,
    { path, query }: CanonicalTarget,
    peer: Peer,
    proxies: Proxies,
    timeMs: number,
  ) {
    this.method = message.method ?? 'GET'
    this.path = path
    this.query = query
    this.timeMs = timeMs
    this.headers = message.headers
    this.rawHeaders = message.rawHeaders
    this.named = namedByConnection(message.headers.connection)
    this.peer = peer
    this.proxies = proxies
    this.known = undefined
  }

  get address(): Address | undefined {
    if (!this.peer.isTrusted) return this.peer.address
    this.known ??= clientAddress(this.proxies, this.peer.text, (name) => this.textOf(name))
    return this.known
  }

  get ip(): string | undefined {
    const { address } = this
    return address === undefined ? undefined : formatAddress(address, this.proxies.ipv6Prefix)
  }

  header(name: string): string | undefined {
    return this.named?.has(name) ? undefined : this.textOf(name)
  }

  headerLines(name: string): readonly string[] {
    // These are lists that every proxy may add a line to.
    if (isAboutClient(name)) return []
    const { rawHeaders, named } = this
    const lines: string[] = []
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const other = rawHeaders[i]!
      if (isSameToCgi(other, name) && !named?.has(other.toLowerCase())) lines.push(rawHeaders[i + 1]!)
    }
    return lines
  }

  private textOf(name: string): string | undefined {
    const value = this.headers[name]
    if (typeof value === 'string') return value
    // Of `constructor` and `__proto__` every object has one, which no client has sent.
    return Array.isArray(value) ? value.join(', ') : undefined
  }
}
