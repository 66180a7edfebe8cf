import type { IncomingMessage } from 'node:http'
import type { Reader, WhoIs } from './rate-limit.js'
import type { RequestFacts } from './request.js'
import { otherReadings, targetOf } from './target.js'

/** Where a framework on Node keeps what we ask for. */
export interface NodeSource<Request> {
  message(request: Request): IncomingMessage
  /** The target of the request, before any framework has cut something off. */
  url(request: Request): string
  /** The path that its router reads in a target that is a whole URL. Default: it reads none. */
  routed?(request: Request): string | undefined
  route(request: Request): string | undefined
}

export function nodeReader<Request>(source: NodeSource<Request>): Reader<Request> {
  return {
    facts: (request, whoIs) => new NodeFacts(source, request, whoIs),
    identity: source.message,
  }
}

/** A class, because nearly every fact is read when it is asked for, and most requests are asked for one. */
class NodeFacts<Request> implements RequestFacts {
  private readonly source: NodeSource<Request>
  private readonly request: Request
  private readonly whoIs: WhoIs
  private readonly message: IncomingMessage
  private readonly peer: string | undefined
  private knownIp: string | undefined

  constructor(source: NodeSource<Request>, request: Request, whoIs: WhoIs) {
    this.source = source
    this.request = request
    this.whoIs = whoIs
    this.message = source.message(request)
    this.peer = this.message.socket.remoteAddress
    this.knownIp = undefined
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

  get ip(): string | undefined {
    this.knownIp ??= this.whoIs(this.peer, this)
    return this.knownIp
  }

  get isGone(): boolean {
    return this.message.socket.destroyed
  }

  header(name: string): string | undefined {
    const { headers } = this.message
    // HTTP/2 has another name for the host, which comes before this one (RFC 9113, 8.3.1).
    const value = name === 'host' ? (headers[':authority'] ?? headers.host) : headers[name]
    if (typeof value === 'string') return value
    // Of `constructor` and `__proto__` every object has one, which no client has sent.
    return Array.isArray(value) ? value.join(', ') : undefined
  }
}
