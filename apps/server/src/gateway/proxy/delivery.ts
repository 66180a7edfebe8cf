import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { abortResponse, isHttp2, streamOf } from './http2.js'

/** How long a stream that was reset may take to close before its connection is destroyed. */
const RESET_MS = 1000

/**
 * Disconnects a client that does not read the end of its response, for example with an HTTP/2 window of 0. Call it after
 * `response.end()`, when pending bytes can only decrease.
 */
export function watchDelivery(response: ServerResponse, idleMs: number): void {
  if (response.writableFinished || response.destroyed) return
  let before = Number.POSITIVE_INFINITY
  const timer = setInterval(() => {
    const pending = pendingBytes(response)
    if (pending < before) {
      before = pending
      return
    }
    clearInterval(timer)
    abortResponse(response)
    if (isHttp2(response.req)) destroyUnlessClosed(streamOf(response))
  }, idleMs / 2)
  response.once('close', () => clearInterval(timer))
}

function pendingBytes(response: ServerResponse): number {
  if (isHttp2(response.req)) return streamOf(response).bufferSize
  return response.writableLength + (response.socket?.writableLength ?? 0)
}

/** Destroys the connection if the stream does not close: a client that reads nothing does not receive the reset. */
function destroyUnlessClosed(stream: ServerHttp2Stream): void {
  const { session } = stream
  const timer = setTimeout(() => session?.destroy(), RESET_MS)
  stream.once('close', () => clearTimeout(timer))
}
