import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'

/* Calls of the rate limit service over HTTP/2, with any bytes instead of a message. */

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

export function openSession(address: string): ClientHttp2Session {
  return connect(`http://${address}`).on('error', () => {})
}

export function openStream(session: ClientHttp2Session, path = PATH): ClientHttp2Stream {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  return session.request(headers).on('error', () => {})
}

/** The gRPC status of a call with this body; undefined if the stream ends without one. */
export function grpcStatus(session: ClientHttp2Session, body: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const stream = openStream(session)
    let status: string | undefined
    const read = (headers: object) => {
      status = (headers as Record<string, string>)['grpc-status'] ?? status
    }
    stream.on('response', read).on('trailers', read).resume()
    stream.on('close', () => resolve(status))
    stream.end(body)
  })
}

/** A message with its prefix: whether it is compressed, and its length. */
export function framed(message: Buffer, length = message.length): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(length, 1)
  return Buffer.concat([prefix, message])
}
