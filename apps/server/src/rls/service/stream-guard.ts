import { constants, type Http2Server, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { createClientShares } from '../../http/client-shares.js'

export interface StreamGuardOptions {
  /** The address that shares memory; undefined for a trusted peer, which only the total bounds. */
  clientOf(socket: Socket): string | undefined
  /** The maximum size of a decompressed message. */
  readonly maxMessageBytes: number
  /** For the request to arrive, and for the response to be read. */
  readonly timeoutMs: number
}

/** Streams that were closed early, by the reason. */
export interface StreamCounts {
  readonly aborted: Readonly<Record<AbortReason, number>>
}

type AbortReason = 'memory' | 'slow_request' | 'unread_response'

/** Concurrent streams of a connection. An Envoy has one connection for each worker. */
export const MAX_STREAMS = 100
const MAX_STREAMS_OF_TRUSTED = 1000

const MAX_BYTES = { perClient: 8 * 1024 * 1024, together: 32 * 1024 * 1024 }
/** What Node holds for an open stream, besides headers and messages. */
const STREAM_BYTES = 8 * 1024
/** What Node holds for a chunk or a header, besides its bytes. */
const CHUNK_BYTES = 256

/**
 * Bounds the memory of streams: of requests that do not arrive, of responses that are not read, and of streams that stay
 * open. The listeners for `stream` must have been added before.
 */
export function guardStreams(server: Http2Server, options: StreamGuardOptions): StreamCounts {
  const { clientOf, maxMessageBytes, timeoutMs } = options
  const memory = createClientShares(MAX_BYTES)
  const clients = new WeakMap<Http2Session, string | undefined>()
  const aborted = { memory: 0, slow_request: 0, unread_response: 0 }
  const handlers = server.listeners('stream')
  server.removeAllListeners('stream')

  server.on('session', (session: Http2Session) => {
    const client = clientOf(session.socket as Socket)
    clients.set(session, client)
    if (client === undefined) session.settings({ maxConcurrentStreams: MAX_STREAMS_OF_TRUSTED })
  })

  server.on('stream', (stream: ServerHttp2Stream, headers: Headers, ...more: unknown[]) => {
    const { session } = stream
    if (session === undefined) return
    const client = clients.get(session)
    let heldBytes = 0
    let timer = setTimeout(abort, timeoutMs, 'slow_request').unref()
    stream.on('error', () => {})
    stream.once('close', () => {
      clearTimeout(timer)
      memory.give(client, heldBytes)
      heldBytes = 0
    })

    function abort(reason: AbortReason): void {
      aborted[reason]++
      // Node holds the response of a closed stream until the client reads from the connection.
      if (reason === 'unread_response') session!.destroy()
      else stream.close(reason === 'memory' ? constants.NGHTTP2_ENHANCE_YOUR_CALM : constants.NGHTTP2_CANCEL)
    }

    function hold(bytes: number): boolean {
      if (stream.closed) return false
      const isHeld = memory.take(client, bytes)
      if (isHeld) heldBytes += bytes
      else abort('memory')
      return isHeld
    }

    function expectToBeRead(): void {
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (stream.writableLength > 0 || stream.writableFinished) abort('unread_response')
      }, timeoutMs).unref()
    }

    if (!hold(STREAM_BYTES + bytesOf(headers, maxMessageBytes))) return
    const { push, write } = stream
    stream.push = (chunk: Buffer | null) => {
      if (chunk === null) {
        clearTimeout(timer)
        return push.call(stream, null)
      }
      // The rest of a request with an early response is discarded.
      if (stream.writableEnded) return push.call(stream, chunk)
      // A copy: a chunk keeps everything in memory that was read from the connection at once.
      return hold(chunk.length + CHUNK_BYTES) && push.call(stream, copyOf(chunk))
    }
    stream.write = ((chunk: Buffer, ...rest: [BufferEncoding]) => {
      if (!hold(chunk.length + CHUNK_BYTES)) return false
      expectToBeRead()
      return write.call(stream, chunk, ...rest)
    }) as typeof write
    stream.once('finish', () => {
      if (stream.readableEnded) expectToBeRead()
      // The response is complete, so the rest of the request is not needed.
      else stream.close(constants.NGHTTP2_NO_ERROR)
    })
    for (const handler of handlers) handler.call(server, stream, headers, ...more)
  })
  return { aborted }
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The bytes of the headers, and those of the message before it arrives if it can be compressed. */
function bytesOf(headers: Headers, maxMessageBytes: number): number {
  const encoding = headers['grpc-encoding'] ?? 'identity'
  let bytes = encoding === 'identity' ? 0 : maxMessageBytes
  for (const [name, value] of Object.entries(headers))
    bytes += CHUNK_BYTES + name.length + String(value).length
  return bytes
}

function copyOf(chunk: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  chunk.copy(copy)
  return copy
}
