import { type ClientHttp2Session, connect } from 'node:http2'

/*
 * Calls of Envoy's rate limit service over HTTP/2, with messages encoded by hand: a gRPC library on the client would cost
 * more than the server that is measured.
 */

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
const HEADERS = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' }

/** The decision for a request, and the remaining hits of its one descriptor. */
export interface RlsAnswer {
  isOver: boolean
  remaining: number
}

/** A framed request for one descriptor with one entry. */
export function encodeCall(domain: string, key: string, value: string, hits = 1): Buffer {
  const entry = Buffer.concat([text(1, key), text(2, value)])
  const descriptor = chunk(1, entry)
  const message = Buffer.concat([text(1, domain), chunk(2, descriptor), Buffer.from([3 << 3, hits])])
  const frame = Buffer.alloc(5)
  frame.writeUInt32BE(message.length, 1)
  return Buffer.concat([frame, message])
}

export function openSession(address: string): Promise<ClientHttp2Session> {
  const session = connect(`http://${address}`)
  return new Promise((resolve, reject) => {
    session.once('connect', () => resolve(session)).once('error', reject)
  })
}

/** Sends a framed request. Rejects if the call fails. */
export function call(session: ClientHttp2Session, frame: Buffer): Promise<RlsAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(HEADERS)
    let body: Buffer | undefined
    let status: unknown
    stream.on('response', (headers) => {
      status = headers['grpc-status']
    })
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status']
    })
    stream.on('data', (data: Buffer) => {
      body = body === undefined ? data : Buffer.concat([body, data])
    })
    stream.on('error', reject)
    stream.on('end', () => {
      if (status === '0' && body !== undefined) resolve(decode(body.subarray(5)))
      else reject(new Error(`The call ended with status ${String(status)}.`))
    })
    stream.end(frame)
  })
}

function decode(message: Buffer): RlsAnswer {
  const fields = fieldsOf(message)
  const status = fields.get(2)
  const remaining = Buffer.isBuffer(status) ? fieldsOf(status).get(3) : 0
  return { isOver: fields.get(1) === 2, remaining: typeof remaining === 'number' ? remaining : 0 }
}

/** The fields of a message by number: varints and chunks. */
function fieldsOf(message: Buffer): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    if ((tag & 7) === 0) {
      fields.set(tag >> 3, varint())
      continue
    }
    const length = varint()
    fields.set(tag >> 3, message.subarray(at, at + length))
    at += length
  }
  return fields
}

function chunk(field: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, data.length]), data])
}

function text(field: number, value: string): Buffer {
  return chunk(field, Buffer.from(value))
}
