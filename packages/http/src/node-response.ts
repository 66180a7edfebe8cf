import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { joinField, outdatedBy } from './headers.js'
import type { RateLimit, Refusal, Ruling } from './rate-limit.js'
import { asError } from './thrown.js'
import { isPromise } from './when.js'

/** How a framework on Node with callbacks goes on. */
export interface NodeWay<Request> {
  response: ServerResponse
  /** Goes on with the request, or with what went wrong. */
  next: (error?: unknown) => void
  /** Refuses the request. Default: our answer is sent. */
  refuse?: ((refusal: Refusal<Request>) => unknown) | undefined
}

/** Decides, and carries out what was decided. */
export function limit<Request>(
  { decide }: RateLimit<Request>,
  request: Request,
  way: NodeWay<Request>,
): void {
  let ruling: ReturnType<typeof decide>
  try {
    ruling = decide(request)
  } catch (error) {
    way.next(error)
    return
  }
  if (isPromise(ruling)) ruling.then((ruling) => carryOut(ruling, way), way.next)
  else carryOut(ruling, way)
}

function carryOut<Request>(ruling: Ruling<Request>, { response, next, refuse }: NodeWay<Request>): void {
  const { isGone, refusal, headers, holdMs, atEnd } = ruling
  if (isGone) return
  try {
    // Whoever has answered meanwhile, such as a time-out in front, has answered.
    if (response.headersSent && refusal !== undefined) return
    if (!response.headersSent) setHeaders(response, headers)
    if (refusal !== undefined) {
      const refused = refuse === undefined ? send(refusal, response) : refuse(refusal)
      if (isPromise(refused)) refused.catch((error) => next(asError(error)))
      return
    }
  } catch (error) {
    next(asError(error))
    return
  }
  if (atEnd !== undefined) whenSent(response, atEnd)
  if (holdMs > 0) hold(holdMs, response, next)
  else next()
}

/** Does what is to be done at the end, if the whole answer goes out. */
export function whenSent(response: ServerResponse, atEnd: NonNullable<Ruling<never>['atEnd']>): void {
  response.once('finish', () => {
    const stream = streamOf(response)
    if (stream === undefined || (response.writableEnded && stream.writableFinished))
      atEnd(response.statusCode)?.()
  })
}

/** Sets our headers beside those of limiters in front. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name of outdatedBy(headers)) response.removeHeader(name)
  for (const name in headers) response.setHeader(name, joinField(response.getHeader(name), headers[name]!))
}

/** Goes on after so long. If the client hangs up before, never: nobody is there to be answered. */
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
 * What knows how far an answer over HTTP/2 has come. The response does not: it finishes also when its client breaks it
 * off, and never says that it is destroyed.
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
