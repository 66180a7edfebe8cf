import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Dispatcher, errors } from 'undici'
import { atEndOfTurn } from '../http/end-of-turn.js'
import { watchDelivery } from './delivery.js'
import type { Exchange } from './exchange.js'
import { breakOff, isHttp2 } from './http2.js'
import {
  addTrailers,
  filtered,
  type HeadToSend,
  headToSend,
  isWithoutBody,
  type RawHeaders,
  writeHead,
} from './response-headers.js'
import type { Upstream } from './upstreams.js'
import { agreesToWebSocket, rawHead, tunnel } from './web-socket.js'

/** What becomes of an attempt that has brought no answer. */
export interface Outcome {
  failed(exchange: Exchange, attempt: Attempt, error: Error): void
  /** Whether an answer of this status is as good as none, and another attempt will be made. */
  isFailure(exchange: Exchange, status: number): boolean
  /** It was. */
  again(exchange: Exchange, attempt: Attempt): void
}

/**
 * One attempt to have a request answered by one upstream: what undici tells, and what is done about it. A class, because
 * it has a life. It is undici's older form of a handler: the newer one makes objects of headers that we take apart again.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly upstream: Upstream
  /** Whether there was a connection to send it on. */
  isSent = false
  /** Whether it timed out waiting for one of the connections, which says nothing about the upstream. */
  isTimedOutInLine = false
  private readonly exchange: Exchange
  private readonly outcome: Outcome
  private isOver = false
  private abort: ((error?: Error) => void) | undefined
  /** What is missing of the body, if its length was said. */
  private missing = -1
  /** Whatever length its head says, of what there would be: undici takes that for a body cut short. */
  private hasNoBody = false
  private last: Buffer | undefined
  private isDrainAwaited = false
  private inLine: NodeJS.Timeout | undefined
  private unread: NodeJS.Timeout | undefined

  constructor(exchange: Exchange, upstream: Upstream, outcome: Outcome) {
    this.exchange = exchange
    this.upstream = upstream
    this.outcome = outcome
    upstream.inFlight++
    if (exchange.upgrade !== undefined) upstream.tunnels++
    if (upstream.inFlight > upstream.maxConnections) this.waitInLine()
  }

  /** Nobody wants the answer any more. */
  cancel(): void {
    this.end()
    this.abort?.()
  }

  onConnect(abort: (error?: Error) => void): void {
    // It was cancelled while it waited for a connection.
    if (this.isOver) return void abort()
    this.abort = abort
    this.isSent = true
    this.upstream.state.reached()
    clearTimeout(this.inLine)
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    const { exchange } = this
    const { response } = exchange
    if (this.isOver) return true
    if (status < 200) {
      this.inform(status, raw)
      return true
    }
    if (this.outcome.isFailure(exchange, status)) {
      this.cancel()
      this.outcome.again(exchange, this)
      return true
    }
    const head = this.headOf(status, raw)
    this.missing = head.length
    this.hasNoBody = isWithoutBody(status)
    writeHead(response, head)
    this.resume = resume
    return true
  }

  onUpgrade(status: number, raw: Buffer[] | string[] | null, upstreamSocket: Duplex): void {
    const { response, upgrade, life } = this.exchange
    if (this.isOver || upgrade === undefined || !agreesToWebSocket(raw as Buffer[])) {
      upstreamSocket.on('error', () => {}).destroy()
      this.onError(new errors.SocketError('bad upgrade'))
      return
    }
    const socket = upgrade.socket as Socket
    // Before the connection is let go of: it may be that this cannot be said.
    const head = rawHead(this.headOf(status, raw as Buffer[]))
    this.end()
    this.upstream.tunnels++
    upstreamSocket.once('close', () => this.upstream.tunnels--)
    life.becameTunnel()
    response.detachSocket(socket)
    socket.write(head, 'latin1')
    if (upgrade.head.length > 0) upstreamSocket.write(upgrade.head)
    tunnel(socket, upstreamSocket as Socket)
  }

  onData(chunk: Buffer): boolean {
    const { response } = this.exchange
    if (this.isOver || response.destroyed) return true
    this.exchange.bytes += chunk.length
    if (this.missing >= 0) {
      this.missing -= chunk.length
      // The end is next, and both go out together.
      if (this.missing === 0) {
        this.last = chunk
        return true
      }
    }
    if (response.write(chunk)) return true
    this.awaitDrain()
    return false
  }

  onComplete(trailers: string[] | null): void {
    if (this.isOver) return
    this.end()
    const { response, bodyIdleMs } = this.exchange
    if (trailers !== null && trailers.length > 0) addTrailers(response, trailers as unknown as RawHeaders)
    const { last } = this
    atEndOfTurn(
      () => {
        if (last === undefined) response.end()
        else response.end(last)
        watchDelivery(response, bodyIdleMs)
      },
      () => response.destroy(),
    )
  }

  onError(error: Error): void {
    if (this.isOver) return
    if (this.hasNoBody && error instanceof errors.ResponseContentLengthMismatchError) {
      return void this.onComplete(null)
    }
    this.end()
    this.outcome.failed(this.exchange, this, error)
  }

  private resume: () => void = () => {}

  /** Until the client has read it, the upstream's connection is taken: not for ever. */
  private awaitDrain(): void {
    const { response, bodyIdleMs } = this.exchange
    this.unread = setTimeout(() => breakOff(response), bodyIdleMs)
    if (this.isDrainAwaited) return
    this.isDrainAwaited = true
    response.on('drain', () => {
      clearTimeout(this.unread)
      this.resume()
    })
  }

  /** All connections are taken, and undici lets requests wait for one without end. */
  private waitInLine(): void {
    const { headersMs } = this.exchange.inForce.route.timeouts
    this.inLine = setTimeout(() => {
      this.isTimedOutInLine = true
      this.onError(new errors.ConnectTimeoutError('no connection'))
    }, headersMs)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.upstream.inFlight--
    if (this.exchange.upgrade !== undefined) this.upstream.tunnels--
    clearTimeout(this.inLine)
    clearTimeout(this.unread)
  }

  private headOf(status: number, raw: RawHeaders): HeadToSend {
    const { limits, inForce, request } = this.exchange
    const { responseFilters } = inForce.route
    const head = headToSend(status, raw, limits)
    return responseFilters.length === 0 ? head : filtered(head, responseFilters, request)
  }

  /** Passes on what comes before an answer, if the client can read it. */
  private inform(status: number, raw: RawHeaders): void {
    const { response, message } = this.exchange
    if (!isHttp2(message) && message.httpVersionMinor === 0) return
    if (status === 102 && !isHttp2(message)) response.writeProcessing()
    if (status !== 103) return
    const link: string[] = []
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i]!.toString('latin1').toLowerCase() === 'link') link.push(raw[i + 1]!.toString('latin1'))
    }
    try {
      response.writeEarlyHints({ link })
    } catch {
      // Node takes only links of one form. They are hints: without them the answer is the same.
    }
  }
}
