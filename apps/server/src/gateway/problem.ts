import type { IncomingMessage, ServerResponse } from 'node:http'
import { prefersProblem } from '@tidegate/http'
import { ApiError, errorBody, problemBody } from '../api/api-error.js'
import { breakOff, isHttp2 } from './http2.js'
import { isWithoutBody } from './response-headers.js'

/** Answers in our own words: as a problem for whoever would rather have one, or else as plain JSON. */
export function answerProblem(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string | string[]>> = {},
): number {
  const { req: request } = response
  const error = new ApiError(status, message)
  const isProblem = prefersProblem(request.headers.accept)
  const body = JSON.stringify(isProblem ? problemBody(error, pathOf(request)) : errorBody(error))
  const contentType = isProblem ? 'application/problem+json' : 'application/json; charset=utf-8'
  return answer(response, status, { ...headers, 'content-type': contentType }, body)
}

/** Answers by ourselves, and says how long the body is. If the upstream's answer has been begun, all that can be done is to break it off. */
export function answer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | string[]>>,
  body: string,
): number {
  if (response.headersSent || response.destroyed) {
    breakOff(response)
    return 0
  }
  // Of the upstream's answer, if that could not be passed on.
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  if (!isHttp2(response.req)) response.statusMessage = ''
  const bytes = Buffer.byteLength(body)
  try {
    response.writeHead(status, {
      'cache-control': 'no-store',
      ...headers,
      // There is no body then, and none may be said to have a length.
      ...(isWithoutBody(status) ? {} : { 'content-length': bytes }),
    })
  } catch {
    // There is nothing left to say, and whoever waits would wait for ever.
    breakOff(response)
    return 0
  }
  response.end(body)
  return bytes
}

/** What was asked for, without the query: that may hold anything. */
function pathOf({ url = '/' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
