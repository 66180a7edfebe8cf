import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorBody, HttpError } from './http-error.js'

export const HEADERS_TOO_LARGE = 'The request line and headers are too large.'

/** Responds to input that Node rejects as invalid, too large or too slow. */
export function respondToBadHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse }
  // After the headers of a response were sent, an error would be read as part of its body.
  if (error.code === 'ECONNRESET' || !socket.writable || response?.headersSent === true) {
    socket.destroy()
    return
  }
  // A complete request may have been counted, so its response is sent, and the connection is closed after it.
  if (response?.req.complete === true) {
    response.shouldKeepAlive = false
    return
  }
  const [status, message] = BAD_HTTP[error.code ?? ''] ?? [400, 'The request is not valid HTTP.']
  socket.end(finalResponse(status, message))
}

/** A complete response for a raw socket, with Connection: close. */
export function finalResponse(status: number, message: string): string {
  const body = JSON.stringify(errorBody(new HttpError(status, message)))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

const BAD_HTTP: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, HEADERS_TOO_LARGE],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
}
