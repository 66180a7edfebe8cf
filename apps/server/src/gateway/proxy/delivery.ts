import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { abortResponse, isHttp2, streamOf } from './http2.js'

/** How long a stream that was reset may take to close before its connection is destroyed. */
const RESET_MS = 1000

/**
 * Drops a client that does not read the end of its response: a window of 0 in HTTP/2, or a full socket in HTTP/1.1,
 * would hold the response without end. Called after `response.end()`; from then on pending bytes only decrease.
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

/** A client that does not read its socket never sees the reset either. */
function destroyUnlessClosed(stream: ServerHttp2Stream): void {
  const { session } = stream
  const timer = setTimeout(() => session?.destroy(), RESET_MS)
  stream.once('close', () => clearTimeout(timer))
}
