import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { ApiError } from '../api/api-error.js'
import { discardBody } from './discard-body.js'
import { endedByHeaders, isHttp2 } from './http2.js'

export interface BodyOptions {
  /** Beyond it 413. */
  readonly maxBytes: number | undefined
  /** For how long nothing may come of it before it is 408. How long it takes as a whole does not matter. */
  readonly idleMs: number
}

/** Whether a request has a body, also one of unknown length. */
export function hasBody(message: IncomingMessage): boolean {
  if (isHttp2(message)) return !endedByHeaders(message)
  const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
  return encoding !== undefined || (length !== undefined && Number(length) > 0)
}

/**
 * The body as a stream of its own. undici destroys the stream that it is given when an upstream fails or answers early; of
 * the request itself that would be the connection, and with it the answer. It is read as fast as the upstream takes it.
 */
export function bodyOf(
  message: IncomingMessage,
  response: ServerResponse,
  { maxBytes, idleMs }: BodyOptions,
): Readable {
  let bytes = 0
  // In HTTP/1.0 it has no meaning, whatever it says; elsewhere only 100-continue comes here, see handle.ts.
  let isAwaited = message.headers.expect !== undefined && message.httpVersion !== '1.0'
  const timer = setTimeout(onIdle, idleMs)
  const body = new Readable({
    highWaterMark: 64 * 1024,
    read() {
      if (isAwaited) response.writeContinue()
      isAwaited = false
      message.resume()
    },
    destroy(error, done) {
      clearTimeout(timer)
      message.off('data', onData).off('end', onEnd).off('close', onClose)
      discardBody(message, response)
      done(error)
    },
  })

  function onData(chunk: Buffer): void {
    timer.refresh()
    bytes += chunk.length
    if (maxBytes !== undefined && bytes > maxBytes) body.destroy(tooLarge(maxBytes))
    else if (!body.push(chunk)) message.pause()
  }

  function onEnd(): void {
    clearTimeout(timer)
    body.push(null)
  }

  function onClose(): void {
    clearTimeout(timer)
    if (!message.complete) body.destroy(new Error('The client has gone.'))
  }

  function onIdle(): void {
    // It is the upstream that we are waiting for.
    if (message.isPaused()) timer.refresh()
    else body.destroy(new ApiError(408, 'The body took too long to arrive.'))
  }

  // undici listens only as long as it has the request, and an error that nobody hears would end the process.
  body.on('error', () => {})
  message.pause()
  message.on('data', onData).on('end', onEnd).on('close', onClose)
  return body
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, `The body is too large: ${maxBytes} bytes at most.`)
}
