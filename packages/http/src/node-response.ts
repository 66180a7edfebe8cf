import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { joinField, outdatedBy } from './headers.js'
import type { RateLimit, Refusal, Ruling } from './rate-limit.js'
import { asError } from './thrown.js'

/** How a framework with callbacks continues. */
export interface NodeWay<Request> {
  response: ServerResponse
  /** Continues with the request, or with an error. */
  next: (error?: unknown) => void
  /** Responds to a denied request. Default: the default response is sent. */
  refuse?: ((refusal: Refusal<Request>) => unknown) | undefined
}

/** Decides about a request and carries out the decision. */
export async function limit<Request>(
  { decide }: RateLimit<Request>,
  request: Request,
  { response, next, refuse }: NodeWay<Request>,
): Promise<void> {
  let ruling: Ruling<Request>
  try {
    ruling = await decide(request)
    const { isGone, refusal, headers } = ruling
    // Something else may have responded meanwhile, such as a timeout in front.
    if (isGone || (response.headersSent && refusal !== undefined)) return
    if (!response.headersSent) setHeaders(response, headers)
    if (refusal !== undefined) {
      if (refuse === undefined) send(refusal, response)
      else await refuse(refusal)
      return
    }
  } catch (error) {
    next(asError(error))
    return
  }
  const { holdMs, atEnd } = ruling
  if (atEnd !== undefined) whenSent(response, atEnd)
  if (holdMs > 0) hold(holdMs, response, next)
  else next()
}

/** Runs `atEnd` once the whole response is sent. */
export function whenSent(response: ServerResponse, atEnd: NonNullable<Ruling<never>['atEnd']>): void {
  response.once('finish', () => {
    const stream = streamOf(response)
    if (stream === undefined || (response.writableEnded && stream.writableFinished))
      atEnd(response.statusCode)?.()
  })
}

/** Sets the headers beside those of limiters in front. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name of outdatedBy(headers)) response.removeHeader(name)
  for (const name in headers) response.setHeader(name, joinField(response.getHeader(name), headers[name]!))
}

/** Continues after a delay, or calls `gone` if the client disconnects before. */
export function hold(ms: number, response: ServerResponse, next: () => void, gone = () => {}): void {
  if ((streamOf(response) ?? response).destroyed) {
    gone()
    return
  }
  const timer = setTimeout(() => {
    response.off('close', letGo)
    next()
  }, ms)
  const letGo = () => {
    clearTimeout(timer)
    gone()
  }
  response.once('close', letGo)
}

/**
 * The stream of an HTTP/2 response. The response object itself also finishes when the client cancels it, and never reports
 * that it is destroyed.
 */
function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as ServerResponse & { stream?: ServerHttp2Stream }).stream
}

function send(refusal: Refusal<unknown>, response: ServerResponse): void {
  const { contentType, body } = refusal.answer()
  response.statusCode = refusal.status
  response.setHeader('Content-Type', contentType)
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
