import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
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

/** Bounds the memory and the time of one stream. */
export interface GuardedStream {
  /** Counts memory until the stream is closed. If there is too much, closes the stream and returns false. */
  hold(bytes: number): boolean
  /** The request has arrived, or a part of the response was written: the timeout begins again. */
  progress(): void
}

export interface StreamGuard {
  readonly counts: StreamCounts
  /** Returns undefined if the stream is closed already. */
  guard(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): GuardedStream | undefined
}

/** Concurrent streams of a connection. An Envoy has one connection for each worker. */
export const MAX_STREAMS = 100
const MAX_STREAMS_OF_TRUSTED = 1000

const MAX_BYTES = { perClient: 8 * 1024 * 1024, together: 32 * 1024 * 1024 }
/** What Node holds for an open stream, besides headers and messages. */
const STREAM_BYTES = 8 * 1024
/** What Node holds for a chunk or a header, besides its bytes. */
const CHUNK_BYTES = 256

const MAX_RESETS = 900
const RESETS_PER_SECOND = 30

/**
 * Bounds the memory of streams: of requests that do not arrive, of responses that are not read, and of streams that stay
 * open.
 */
export function createStreamGuard(server: Http2Server, options: StreamGuardOptions): StreamGuard {
  const { clientOf, maxMessageBytes, timeoutMs } = options
  const memory = createClientShares(MAX_BYTES)
  const clients = new WeakMap<Http2Session, string | undefined>()
  const resets = new WeakMap<Http2Session, ResetBudget>()
  const aborted = { memory: 0, slow_request: 0, unread_response: 0 }

  server.on('session', (session: Http2Session) => {
    const client = clientOf(session.socket as Socket)
    clients.set(session, client)
    resets.set(session, createResetBudget())
    if (client === undefined) session.settings({ maxConcurrentStreams: MAX_STREAMS_OF_TRUSTED })
  })

  function guard(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): GuardedStream | undefined {
    const { session } = stream
    if (session === undefined) return undefined
    const client = clients.get(session)
    let heldBytes = 0
    let isRequestDue = true
    let isAborted = false
    const timer = setTimeout(onTimeout, timeoutMs).unref()
    stream.on('error', () => {})
    stream.once('close', () => {
      clearTimeout(timer)
      memory.give(client, heldBytes)
      heldBytes = 0
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR && !isAborted
      // Finishes the other calls.
      if (isReset && !resets.get(session)!.take()) session.close()
    })

    function onTimeout(): void {
      if (isRequestDue) abort('slow_request')
      else if (stream.writableLength > 0 || stream.writableFinished) abort('unread_response')
    }

    function abort(reason: AbortReason): void {
      aborted[reason]++
      isAborted = true
      // Node holds the response of a closed stream until the client reads from the connection.
      if (reason === 'unread_response') session!.destroy()
      else stream.close(reason === 'memory' ? constants.NGHTTP2_ENHANCE_YOUR_CALM : constants.NGHTTP2_CANCEL)
    }

    function hold(bytes: number): boolean {
      if (stream.closed) return false
      const isHeld = memory.take(client, bytes + CHUNK_BYTES)
      if (isHeld) heldBytes += bytes + CHUNK_BYTES
      else abort('memory')
      return isHeld
    }

    if (!hold(STREAM_BYTES + bytesOf(headers, maxMessageBytes))) return undefined
    return {
      hold,
      progress() {
        isRequestDue = false
        if (!stream.closed) timer.refresh()
      },
    }
  }

  return { counts: { aborted }, guard }
}

interface ResetBudget {
  /** Returns false if there were too many resets. */
  take(): boolean
}

/**
 * Bounds the resets of a connection, below the limit of Node: 1,000, and 33 more each second. At that limit Node stops
 * reading: requests that have not arrived completely get no response, and the end of the connection is not noticed.
 */
function createResetBudget(): ResetBudget {
  let left = MAX_RESETS
  let atMs = performance.now()
  return {
    take() {
      const nowMs = performance.now()
      left = Math.min(MAX_RESETS, left + ((nowMs - atMs) / 1000) * RESETS_PER_SECOND) - 1
      atMs = nowMs
      return left >= 0
    },
  }
}

/** The bytes of the headers, and those of the message before it arrives if it can be compressed. */
function bytesOf(headers: IncomingHttpHeaders, maxMessageBytes: number): number {
  const encoding = headers['grpc-encoding'] ?? 'identity'
  let bytes = encoding === 'identity' ? 0 : maxMessageBytes
  for (const name in headers) bytes += CHUNK_BYTES + name.length + String(headers[name]).length
  return bytes
}
