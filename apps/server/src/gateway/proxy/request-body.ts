import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { HttpError } from '../../http/http-error.js'
import { discardBody } from './discard-body.js'
import { endedByHeaders, isHttp2 } from './http2.js'

export interface BodyOptions {
  /** A longer body is rejected with 413. Undefined: no limit. */
  readonly maxBytes: number | undefined
  /** How many bytes are read ahead of the upstream. Default: 64 KB. */
  readonly bufferBytes?: number | undefined
  /** Called with each part of the body as it arrives. */
  readonly onBytes?: ((bytes: Buffer) => void) | undefined
  /** A body that pauses for longer is rejected with 408. */
  readonly idleMs: number
  /** Bytes per second on average, from `RATE_GRACE_MS` on; a slower body is rejected with 408. 0: any rate. */
  readonly minRate: number
}

/** How long a body may arrive at any rate. */
const RATE_GRACE_MS = 20_000
/** How often the rate is checked. */
const RATE_CHECK_MS = 1000

/** Whether a request has a body, also one of unknown length. */
export function hasBody(message: IncomingMessage): boolean {
  if (isHttp2(message)) return !endedByHeaders(message)
  const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
  return encoding !== undefined || (length !== undefined && Number(length) > 0)
}

/**
 * The body of a request as a stream of its own: undici destroys its body stream when an upstream fails or responds
 * early, and destroying the request would close the client's connection before the response. The first bytes are read
 * at once, the rest as fast as the upstream takes it.
 */
export class RequestBody extends Readable {
  /** Whether everything has arrived. */
  isWhole = false
  private readonly message: IncomingMessage
  private readonly response: ServerResponse
  private readonly options: BodyOptions
  private readonly idle: NodeJS.Timeout
  private readonly rate: NodeJS.Timeout | undefined
  private bytes = 0
  /** How long the body has waited for the client. Time in which it waited for the upstream does not count. */
  private waitedMs = 0
  private onBegun: (() => void) | undefined
  private onReadAhead: (() => void) | undefined
  private onSettled: (() => void)[] = []

  constructor(message: IncomingMessage, response: ServerResponse, options: BodyOptions) {
    super({ highWaterMark: options.bufferBytes ?? 64 * 1024 })
    this.message = message
    this.response = response
    this.options = options
    // Errors reach the client through `onError` of the attempt or of the queue; an unhandled event would end the process.
    this.on('error', () => {})
    this.idle = setTimeout(() => this.checkIdle(), options.idleMs)
    if (options.minRate > 0) this.rate = setInterval(() => this.checkRate(), RATE_CHECK_MS)
    message.on('data', this.add).on('end', this.finish).on('close', this.checkComplete)
    // HTTP/1.0 has no expectations; other expectations than 100-continue were rejected before.
    if (message.headers.expect !== undefined && message.httpVersion !== '1.0') response.writeContinue()
    message.resume()
  }

  /** Calls back once there are bytes to send, the body has ended, or it has failed. */
  whenBegun(callback: () => void): void {
    if (this.bytes > 0 || this.isWhole || this.destroyed) callback()
    else this.onBegun = callback
  }

  /** Whether reading has paused or ended: the buffer is full, the body is complete, or it has failed. */
  get isReadAhead(): boolean {
    return this.isWhole || this.destroyed || this.message.isPaused()
  }

  /** Calls back once `isReadAhead`. */
  whenReadAhead(callback: () => void): void {
    if (this.isReadAhead) callback()
    else this.onReadAhead = callback
  }

  /** Calls back once everything has arrived, or the body has failed. */
  whenSettled(callback: () => void): void {
    if (this.isWhole || this.destroyed) callback()
    else this.onSettled.push(callback)
  }

  override _read(): void {
    this.message.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.message.off('data', this.add).off('end', this.finish).off('close', this.checkComplete)
    discardBody(this.message, this.response)
    done(error)
    this.settle()
  }

  private readonly add = (chunk: Buffer): void => {
    const { maxBytes } = this.options
    this.idle.refresh()
    this.bytes += chunk.length
    if (maxBytes !== undefined && this.bytes > maxBytes) return void this.destroy(tooLarge(maxBytes))
    this.options.onBytes?.(chunk)
    if (!this.push(chunk)) {
      this.message.pause()
      this.readAhead()
    }
    this.begin()
  }

  private readonly finish = (): void => {
    this.isWhole = true
    this.push(null)
    this.settle()
  }

  private readonly checkComplete = (): void => {
    if (!this.message.complete) this.destroy(new Error('The client closed the connection.'))
  }

  private checkIdle(): void {
    // While the body is paused, it waits for the upstream.
    if (this.message.isPaused()) this.idle.refresh()
    else this.destroy(tooSlow())
  }

  private checkRate(): void {
    if (this.message.isPaused()) return
    this.waitedMs += RATE_CHECK_MS
    const isSlow = this.bytes * 1000 < this.options.minRate * this.waitedMs
    if (isSlow && this.waitedMs >= RATE_GRACE_MS) this.destroy(tooSlow())
  }

  private begin(): void {
    const { onBegun } = this
    this.onBegun = undefined
    onBegun?.()
  }

  private readAhead(): void {
    const { onReadAhead } = this
    this.onReadAhead = undefined
    onReadAhead?.()
  }

  private settle(): void {
    clearTimeout(this.idle)
    clearInterval(this.rate)
    this.begin()
    this.readAhead()
    for (const callback of this.onSettled.splice(0)) callback()
  }
}

export function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `The body is too large: the maximum is ${maxBytes} bytes.`)
}

function tooSlow(): HttpError {
  return new HttpError(408, 'The request body took too long to arrive.')
}
