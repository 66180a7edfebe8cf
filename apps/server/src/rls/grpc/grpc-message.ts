import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { GrpcError, STATUS } from './grpc-status.js'

/*
 * Messages in gRPC: a byte that says whether the message is compressed, its length in four bytes, and its bytes.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

const PREFIX_BYTES = 5

/** The accepted values of `grpc-encoding`, besides `identity`. */
const DECOMPRESS = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
])
export const ENCODINGS = ['identity', ...DECOMPRESS.keys()].join(',')

/** Collects the body of a call with one request message. */
export interface MessageReader {
  /** Adds a part of the body. Throws `GrpcError` as soon as the body cannot be one message of at most `maxBytes`. */
  add(chunk: Buffer): void
  /** Returns the message of a complete body. Rejects with `GrpcError` if the body is not one message. */
  message(): Promise<Buffer>
}

/** `encoding` is the value of the header `grpc-encoding`. Throws `GrpcError` if it is not supported. */
export function createMessageReader(encoding: string, maxBytes: number): MessageReader {
  const decompress = DECOMPRESS.get(encoding)
  if (decompress === undefined && encoding !== 'identity')
    throw new GrpcError(STATUS.unimplemented, `grpc-encoding must be one of ${ENCODINGS}.`)
  const chunks: Buffer[] = []
  let bytes = 0
  /** Of prefix and message; undefined before the prefix has arrived. */
  let expectedBytes: number | undefined

  return {
    add(chunk) {
      bytes += chunk.length
      if (bytes >= PREFIX_BYTES) expectedBytes ??= lengthOf(Buffer.concat([...chunks, chunk]), maxBytes)
      if (expectedBytes !== undefined && bytes > expectedBytes)
        throw new GrpcError(STATUS.internal, 'The call must have one message.')
      // Copy a part of a message, because its chunk keeps the whole read buffer of the connection in memory.
      chunks.push(bytes === expectedBytes ? chunk : copyOf(chunk))
    },

    async message() {
      if (bytes === 0) throw new GrpcError(STATUS.internal, 'The call has no message.')
      if (bytes !== expectedBytes) throw new GrpcError(STATUS.internal, 'The message is incomplete.')
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      const message = body.subarray(PREFIX_BYTES)
      if (body[0] === 0) return message
      if (body[0] !== 1 || decompress === undefined)
        throw new GrpcError(STATUS.internal, 'The message is compressed, but grpc-encoding is missing.')
      try {
        return await decompress(message, { maxOutputLength: maxBytes })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
        throw new GrpcError(STATUS.internal, 'The message cannot be decompressed.')
      }
    },
  }
}

/** The length of the prefix and the message that it announces. */
function lengthOf(start: Buffer, maxBytes: number): number {
  const length = start.readUInt32BE(1)
  if (length > maxBytes) throw tooLarge(maxBytes)
  return PREFIX_BYTES + length
}

function tooLarge(maxBytes: number): GrpcError {
  const bytes = maxBytes.toLocaleString('en')
  return new GrpcError(STATUS.resourceExhausted, `The message must have at most ${bytes} bytes.`)
}

function copyOf(chunk: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  chunk.copy(copy)
  return copy
}

/** Decodes a request. Throws `GrpcError` if it is malformed. */
export function decodeMessage<T>(decode: (bytes: Buffer) => unknown, message: Buffer): T {
  try {
    return decode(message) as T
  } catch {
    throw new GrpcError(STATUS.internal, 'The message is malformed.')
  }
}

/** A message as the body of a response. */
export function framed(message: Buffer): Buffer {
  const body = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  body[0] = 0
  body.writeUInt32BE(message.length, 1)
  message.copy(body, PREFIX_BYTES)
  return body
}
