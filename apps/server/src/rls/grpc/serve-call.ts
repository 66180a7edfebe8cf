import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { createMessageReader, ENCODINGS, framed, type MessageReader } from './grpc-message.js'
import { GrpcError, STATUS } from './grpc-status.js'
import type { GuardedStream } from './stream-guard.js'

/** A method with one request message, and one or many responses. */
export type GrpcMethod = UnaryMethod | StreamMethod

interface UnaryMethod {
  /** Rejects with `GrpcError` for an error that the client sees. */
  respond(message: Buffer): Promise<Buffer>
}

interface StreamMethod {
  /** Writes responses until it calls `end`, or until the returned function is called. */
  stream(message: Buffer, write: (response: Buffer) => void, end: () => void): () => void
}

export interface CallOptions {
  /** By path, such as `/grpc.health.v1.Health/Check`. */
  readonly methods: ReadonlyMap<string, GrpcMethod>
  readonly maxMessageBytes: number
  /** For errors other than `GrpcError`, which clients do not see. */
  onError(error: unknown): void
}

/**
 * Serves one call of gRPC: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * Uses node:http2 instead of @grpc/grpc-js, whose server needs almost twice the processor time for a check, and does not
 * bound the memory of its calls.
 */
export async function serveCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  guarded: GuardedStream,
  options: CallOptions,
): Promise<void> {
  if (!headers['content-type']?.startsWith('application/grpc')) {
    stream.respond({ ':status': 415 }, { endStream: true })
    stream.close(constants.NGHTTP2_NO_ERROR)
    return
  }
  try {
    const method = methodOf(headers, options)
    const encoding = String(headers['grpc-encoding'] ?? 'identity')
    const reader = createMessageReader(encoding, options.maxMessageBytes)
    if (!(await readBody(stream, guarded, reader))) return
    const message = await reader.message()
    if ('stream' in method) streamResponses(stream, guarded, method.stream, message)
    else endWith(stream, guarded, await method.respond(message))
  } catch (error) {
    fail(stream, guarded, error instanceof GrpcError ? error : INTERNAL)
    if (!(error instanceof GrpcError)) options.onError(error)
  }
}

const INTERNAL = new GrpcError(STATUS.internal, 'Internal error; see the log of the service.')

function methodOf(headers: IncomingHttpHeaders, { methods }: CallOptions): GrpcMethod {
  const path = headers[':path'] ?? ''
  const method = methods.get(path)
  if (method !== undefined && headers[':method'] === 'POST') return method
  throw new GrpcError(STATUS.unimplemented, `Unknown method ${path.slice(0, 200)}.`)
}

/** Returns whether the whole body has arrived. Rejects with `GrpcError` if it cannot be one message. */
function readBody(
  stream: ServerHttp2Stream,
  guarded: GuardedStream,
  reader: MessageReader,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      if (!guarded.hold(chunk.length)) return
      try {
        reader.add(chunk)
      } catch (error) {
        stream.removeAllListeners('data')
        reject(error)
      }
    })
    stream.once('end', () => {
      guarded.progress()
      resolve(!stream.closed)
    })
    stream.once('close', () => resolve(false))
  })
}

function endWith(stream: ServerHttp2Stream, guarded: GuardedStream, response: Buffer): void {
  const body = framed(response)
  if (stream.closed || !guarded.hold(body.length)) return
  begin(stream)
  stream.end(body)
  guarded.progress()
}

function streamResponses(
  stream: ServerHttp2Stream,
  guarded: GuardedStream,
  start: StreamMethod['stream'],
  message: Buffer,
): void {
  if (stream.closed) return
  begin(stream)
  function write(response: Buffer): void {
    const body = framed(response)
    if (!guarded.hold(body.length)) return
    stream.write(body)
    guarded.progress()
  }
  const stop = start(message, write, () => stream.end())
  stream.once('close', stop)
}

const CONTENT_TYPE = 'application/grpc'

function begin(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': CONTENT_TYPE }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': STATUS.ok }))
}

/** Ends a call without a response. */
function fail(stream: ServerHttp2Stream, guarded: GuardedStream, { status, message }: GrpcError): void {
  if (stream.closed || stream.headersSent) return
  const headers = {
    ':status': 200,
    'content-type': CONTENT_TYPE,
    'grpc-accept-encoding': ENCODINGS,
    'grpc-status': status,
    'grpc-message': percentEncoded(message),
  }
  stream.respond(headers, { endStream: true })
  guarded.progress()
  // The rest of the request is not needed.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
}

function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text), (byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x25
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
}
