import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Dispatcher, errors } from 'undici'
import { atEndOfTurn } from '../../http/end-of-turn.js'
import { HttpError } from '../../http/http-error.js'
import type { CircuitBreaker, TrialKind } from '../upstreams/circuit-breaker.js'
import type { Upstream } from '../upstreams/upstreams.js'
import { watchDelivery } from './delivery.js'
import type { Exchange } from './exchange.js'
import { abortResponse, isHttp2 } from './http2.js'
import {
  addTrailers,
  applyFilters,
  type HeadToSend,
  headToSend,
  isWithoutBody,
  type RawHeaders,
  withCorsHeaders,
  writeHead,
} from './response-headers.js'
import { acceptsWebSocket, rawHead, tunnel } from './web-socket.js'

/** Handles the outcomes of an attempt that do not reach the client. */
export interface AttemptListener {
  onFailure(exchange: Exchange, attempt: Attempt, error: Error): void
  /** Whether a response with this status is discarded and the request retried. */
  shouldRetry(exchange: Exchange, status: number): boolean
  /** Retries the request after such a response. */
  onRetry(exchange: Exchange, attempt: Attempt): void
  /** Whether a response with this status is discarded and the request sent to its fallback. */
  shouldFallBack(exchange: Exchange, status: number): boolean
  onFallBack(exchange: Exchange): void
}

/**
 * One attempt to send a request to one upstream. It implements undici's older handler interface, because the newer one
 * converts the headers to objects, which would have to be flattened again.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly upstream: Upstream
  /** Whether the request got a connection. */
  isSent = false
  /** Whether it timed out in the connection queue. That does not count as a failure of the upstream. */
  isQueueTimeout = false
  private readonly exchange: Exchange
  private readonly listener: AttemptListener
  private isOver = false
  private abort: ((error?: Error) => void) | undefined
  /** Bytes of the body that have not arrived yet; -1 if the length is unknown. */
  private remainingBytes = -1
  /** A 204 or 304 may have a Content-Length without a body, which undici reports as a mismatch. */
  private hasNoBody = false
  private lastChunk: Buffer | undefined
  private isDrainAwaited = false
  private queueTimer: NodeJS.Timeout | undefined
  private unread: NodeJS.Timeout | undefined
  /** Undefined once the outcome is recorded. */
  private breaker: CircuitBreaker | undefined
  private readonly trial: TrialKind
  private trialTimer: NodeJS.Timeout | undefined

  /** The request must have entered `breaker` as a request of the kind `trial`. */
  constructor(
    exchange: Exchange,
    upstream: Upstream,
    listener: AttemptListener,
    breaker: CircuitBreaker | undefined,
    trial: TrialKind,
  ) {
    this.breaker = breaker
    this.trial = trial
    this.exchange = exchange
    this.upstream = upstream
    this.listener = listener
    upstream.inFlight++
    if (exchange.upgrade !== undefined) upstream.tunnels++
    if (upstream.inFlight > upstream.maxConnections) this.startQueueTimer()
    if (trial === 'unfinished' && breaker?.isHalfOpen === true) this.startTrialTimer()
  }

  /** Aborts the attempt, whose response is no longer needed. */
  cancel(): void {
    this.end()
    this.abort?.()
  }

  onConnect(abort: (error?: Error) => void): void {
    // Cancelled while it waited for a connection.
    if (this.isOver) return void abort()
    this.abort = abort
    this.isSent = true
    this.upstream.state.reached()
    clearTimeout(this.queueTimer)
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    const { exchange } = this
    const { response } = exchange
    if (this.isOver) return true
    if (status < 200) {
      this.inform(status, raw)
      return true
    }
    const isFailure = exchange.activeRoute.route.breaker?.isFailure(status) === true
    if (isFailure && this.isBodyUnfinished()) this.abandon()
    else this.record(isFailure)
    if (this.listener.shouldRetry(exchange, status)) {
      this.cancel()
      this.listener.onRetry(exchange, this)
      return true
    }
    if (this.listener.shouldFallBack(exchange, status)) {
      this.cancel()
      this.listener.onFallBack(exchange)
      return true
    }
    const head = this.headOf(status, raw)
    this.remainingBytes = head.length
    this.hasNoBody = isWithoutBody(status)
    writeHead(response, head)
    exchange.budget?.readHead(status, raw)
    this.resume = resume
    return true
  }

  onUpgrade(status: number, raw: Buffer[] | string[] | null, upstreamSocket: Duplex): void {
    const { response, upgrade, context } = this.exchange
    if (this.isOver || upgrade === undefined || !acceptsWebSocket(raw as Buffer[])) {
      upstreamSocket.on('error', () => {}).destroy()
      this.onError(new errors.SocketError('bad upgrade'))
      return
    }
    this.record(false)
    const socket = upgrade.socket as Socket
    // Compute the head before detaching the socket, because it may throw.
    const head = rawHead(this.headOf(status, raw as Buffer[]))
    this.end()
    this.upstream.tunnels++
    upstreamSocket.once('close', () => this.upstream.tunnels--)
    context.endAsTunnel(upstreamSocket)
    response.detachSocket(socket)
    socket.write(head, 'latin1')
    if (upgrade.head.length > 0) upstreamSocket.write(upgrade.head)
    tunnel(socket, upstreamSocket as Socket)
  }

  onData(chunk: Buffer): boolean {
    const { response } = this.exchange
    if (this.isOver || response.destroyed) return true
    this.exchange.bytes += chunk.length
    this.exchange.budget?.readResponse(chunk)
    if (this.remainingBytes >= 0) {
      this.remainingBytes -= chunk.length
      // The last chunk is sent together with the end.
      if (this.remainingBytes === 0) {
        this.lastChunk = chunk
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
    const { response, bodyIdleMs, context } = this.exchange
    context.endBudget('complete')
    if (trailers !== null && trailers.length > 0) addTrailers(response, trailers as unknown as RawHeaders)
    const { lastChunk } = this
    atEndOfTurn(
      () => {
        if (lastChunk === undefined) response.end()
        else response.end(lastChunk)
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
    // A failure caused by the client or by the gateway itself does not count against the upstream.
    // Within a body, undici times out only if the upstream does not read it.
    const isByUpstream = error instanceof errors.HeadersTimeoutError || !this.isBodyUnfinished()
    if (!(error instanceof HttpError) && !this.exchange.isClientGone && !this.isQueueTimeout && isByUpstream)
      this.record(true)
    this.end()
    this.listener.onFailure(this.exchange, this, error)
  }

  private resume: () => void = () => {}

  /** Waits until the client reads on, for a limited time because the upstream's connection is occupied. */
  private awaitDrain(): void {
    const { response, bodyIdleMs } = this.exchange
    this.unread = setTimeout(() => abortResponse(response), bodyIdleMs)
    if (this.isDrainAwaited) return
    this.isDrainAwaited = true
    response.on('drain', () => {
      clearTimeout(this.unread)
      this.resume()
    })
  }

  /** Limits the time in the connection queue; undici has no such limit. */
  private startQueueTimer(): void {
    const { headersMs } = this.exchange.activeRoute.route.timeouts
    this.queueTimer = setTimeout(() => {
      this.isQueueTimeout = true
      this.onError(new errors.ConnectTimeoutError('no connection'))
    }, headersMs)
  }

  /** Frees the trial of a request with a slow body: undici does not limit the time of a request body. */
  private startTrialTimer(): void {
    const { headersMs } = this.exchange.activeRoute.route.timeouts
    this.trialTimer = setTimeout(() => this.abandon(), headersMs)
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.abandon()
    this.upstream.inFlight--
    if (this.exchange.upgrade !== undefined) this.upstream.tunnels--
    clearTimeout(this.queueTimer)
    clearTimeout(this.unread)
  }

  private record(isFailure: boolean): void {
    this.breaker?.record(isFailure, this.trial)
    this.breaker = undefined
    clearTimeout(this.trialTimer)
  }

  private abandon(): void {
    this.breaker?.abandon(this.trial)
    this.breaker = undefined
    clearTimeout(this.trialTimer)
  }

  /** Whether the upstream may have failed because the client has not sent all of its body. */
  private isBodyUnfinished(): boolean {
    return this.isSent && this.exchange.body?.isWhole === false
  }

  private headOf(status: number, raw: RawHeaders): HeadToSend {
    const { rateLimitHeaders, activeRoute, request, context } = this.exchange
    const { responseFilters } = activeRoute.route
    const head = headToSend(status, raw, rateLimitHeaders)
    const changed = responseFilters.length === 0 ? head : applyFilters(head, responseFilters, request)
    return context.corsHeaders === undefined ? changed : withCorsHeaders(changed, context.corsHeaders)
  }

  /** Forwards informational responses to clients that support them. */
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
      // Node rejects some valid Link values. Early hints are optional, so they are dropped.
    }
  }
}
