import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError, errorBody } from '../api/api-error.js'

export const HEADERS_TOO_LARGE = 'The request line and headers are too large.'

/** Answers what is no HTTP, too large or too slow, before it ever was a request. */
export function answerBadHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse }
  // The last: an answer has been begun, and this would be read as a part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent === true) {
    socket.destroy()
    return
  }
  // A request that is whole was understood, and perhaps counted: it is answered, and what came behind it is not.
  if (answer?.req.complete === true) {
    answer.shouldKeepAlive = false
    return
  }
  const [status, message] = BAD_HTTP[error.code ?? ''] ?? [400, 'This is no HTTP request.']
  socket.end(lastAnswer(status, message))
}

/** An answer on a bare connection, which ends with it. */
export function lastAnswer(status: number, message: string): string {
  const body = JSON.stringify(errorBody(new ApiError(status, message)))
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
