import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  type Address,
  type CanonicalTarget,
  clientAddress,
  formatAddress,
  type Proxies,
} from '@tidegate/http'
import { headerLines } from '../../http/header-lines.js'
import type { GatewayRequest } from '../route.js'
import { isAboutClient } from './forwarded-headers.js'
import { headersNamedByConnection } from './hop-by-hop.js'
import type { Peer } from './peer.js'

/** The facts of a request, computed on first use because most routes need few of them. */
export class GatewayRequestFacts implements GatewayRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly timeMs: number
  readonly peer: Peer
  /** Headers that `Connection` names. They are not forwarded, and therefore not used for keys. */
  readonly connectionHeaders: ReadonlySet<string> | undefined
  private readonly headers: IncomingHttpHeaders
  private readonly rawHeaders: readonly string[]
  private readonly proxies: Proxies
  private cachedAddress: Address | undefined

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
    this.connectionHeaders = headersNamedByConnection(message.headers.connection)
    this.peer = peer
    this.proxies = proxies
    this.cachedAddress = undefined
  }

  get address(): Address | undefined {
    if (!this.peer.isTrusted) return this.peer.address
    this.cachedAddress ??= clientAddress(this.proxies, this.peer.text, (name) => this.textOf(name))
    return this.cachedAddress
  }

  get ip(): string | undefined {
    const { address } = this
    return address === undefined ? undefined : formatAddress(address, this.proxies.ipv6Prefix)
  }

  header(name: string): string | undefined {
    return this.connectionHeaders?.has(name) ? undefined : this.textOf(name)
  }

  headerLines(name: string): readonly string[] {
    // Every proxy may add a line to these headers.
    if (isAboutClient(name)) return []
    return headerLines(this.rawHeaders, name, this.connectionHeaders)
  }

  private textOf(name: string): string | undefined {
    const value = this.headers[name]
    if (typeof value === 'string') return value
    // Inherited members such as `constructor` are not headers.
    return Array.isArray(value) ? value.join(', ') : undefined
  }
}
