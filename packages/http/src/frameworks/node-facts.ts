import type { IncomingMessage } from 'node:http'
import type { FindIp, FrameworkProxies } from '../address/client-ip.js'
import type { RequestReader } from '../middleware/rate-limit.js'
import { otherReadings, targetOf } from '../path/target.js'
import type { RequestFacts } from '../request.js'

/** Where a framework on Node keeps the parts of a request. */
export interface NodeSource<Request> {
  message(request: Request): IncomingMessage
  /** The target that the router matches, before a mounted router removes its prefix. */
  url(request: Request): string
  /** The path that the router finds in a target that is a whole URL. Default: none. */
  routed?(request: Request): string | undefined
  route(request: Request): string | undefined
  /** The path at which the middleware is mounted. Default: none. */
  mount?(request: Request): string | undefined
  /** The framework's own proxy setting. Default: none. */
  proxies?(request: Request): FrameworkProxies | undefined
}

export function nodeReader<Request>(source: NodeSource<Request>): RequestReader<Request> {
  return {
    facts: (request, findIp) => new NodeFacts(source, request, findIp),
    identity: source.message,
  }
}

/** Computes facts lazily, because most requests need only one of them. */
class NodeFacts<Request> implements RequestFacts {
  private readonly source: NodeSource<Request>
  private readonly request: Request
  private readonly findIp: FindIp
  private readonly message: IncomingMessage
  private readonly peer: string | undefined
  private cachedIp: string | undefined

  constructor(source: NodeSource<Request>, request: Request, findIp: FindIp) {
    this.source = source
    this.request = request
    this.findIp = findIp
    this.message = source.message(request)
    this.peer = this.message.socket.remoteAddress
    this.cachedIp = undefined
  }

  get method(): string {
    return this.message.method ?? 'GET'
  }

  get path(): string {
    return targetOf(this.source.url(this.request)).path
  }

  get otherPaths(): readonly string[] {
    return otherReadings(this.source.url(this.request), () => this.source.routed?.(this.request))
  }

  get query(): string {
    return targetOf(this.source.url(this.request)).query
  }

  get route(): string | undefined {
    return this.source.route(this.request)
  }

  get mount(): string | undefined {
    const mount = this.source.mount?.(this.request)
    return mount && targetOf(mount).path
  }

  get ip(): string | undefined {
    this.cachedIp ??= this.findIp(this.peer, this, this.source.proxies?.(this.request))
    return this.cachedIp
  }

  get isGone(): boolean {
    return this.message.socket.destroyed
  }

  header(name: string): string | undefined {
    const { headers } = this.message
    // In HTTP/2, :authority replaces the host header (RFC 9113, 8.3.1).
    const value = name === 'host' ? (headers[':authority'] ?? headers.host) : headers[name]
    if (typeof value === 'string') return value
    // Other types are inherited properties such as `constructor`, not headers.
    return Array.isArray(value) ? value.join(', ') : undefined
  }
}
