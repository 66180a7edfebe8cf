import type { IncomingMessage, ServerResponse } from 'node:http'
import { prefersProblem } from '@tidegate/http'
import { errorBody, HttpError, problemBody } from '../../http/http-error.js'
import { abortResponse, isHttp2 } from './http2.js'
import { isWithoutBody } from './response-headers.js'

/** Sends an error as JSON, or as a problem document if the client prefers one. Returns the size of the body. */
export function sendProblem(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string | string[]>> = {},
): number {
  const { req: request } = response
  const error = new HttpError(status, message)
  const isProblem = prefersProblem(request.headers.accept)
  const body = JSON.stringify(isProblem ? problemBody(error, pathOf(request)) : errorBody(error))
  const contentType = isProblem ? 'application/problem+json' : 'application/json; charset=utf-8'
  return sendResponse(response, status, { ...headers, 'content-type': contentType }, body)
}

/** Sends a response of the gateway. Returns the size of the body. Aborts if the response of the upstream has begun. */
export function sendResponse(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | string[]>>,
  body: string,
): number {
  if (response.headersSent || response.destroyed) {
    abortResponse(response)
    return 0
  }
  // Remove headers of an upstream's response that could not be sent.
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  if (!isHttp2(response.req)) response.statusMessage = ''
  const bytes = Buffer.byteLength(body)
  try {
    response.writeHead(status, {
      'cache-control': 'no-store',
      ...headers,
      // A response without a body has no Content-Length.
      ...(isWithoutBody(status) ? {} : { 'content-length': bytes }),
    })
  } catch {
    // Without this, the client would wait forever.
    abortResponse(response)
    return 0
  }
  response.end(body)
  return bytes
}

/** The path without the query, which may contain secrets. */
function pathOf({ url = '/' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
