import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { asError } from '../middleware/as-error.js'
import type { DeniedRequest, RequestLimiter, RequestOutcome } from '../middleware/rate-limit.js'
import { joinHeader, staleHeaders } from '../response/headers.js'

/** The response and the callbacks of a framework. */
export interface NodeCallbacks<Request> {
  response: ServerResponse
  /** Continues with the request, or with an error. */
  next: (error?: unknown) => void
  /** Responds to a denied request. Default: the default response is sent. */
  deny?: ((denial: DeniedRequest<Request>) => unknown) | undefined
}

/** Checks a request, and then responds to it or continues. */
export async function limitRequest<Request>(
  { check }: RequestLimiter<Request>,
  request: Request,
  { response, next, deny }: NodeCallbacks<Request>,
): Promise<void> {
  let outcome: RequestOutcome<Request>
  try {
    outcome = await check(request)
    const { isGone, denial, headers, release } = outcome
    if (release !== undefined) releaseAfterResponse(response, release)
    // Another middleware, such as a timeout, may have responded in the meantime.
    if (isGone || (response.headersSent && denial !== undefined)) return
    if (!response.headersSent) setHeaders(response, headers)
    if (denial !== undefined) {
      if (deny === undefined) send(denial, response)
      else await deny(denial)
      return
    }
  } catch (error) {
    next(asError(error))
    return
  }
  const { holdMs, refundFor } = outcome
  if (refundFor !== undefined) refundAfterSend(response, refundFor)
  if (holdMs > 0) hold(holdMs, response, next)
  else next()
}

/** Runs `refundFor` once the whole response is sent. */
export function refundAfterSend(
  response: ServerResponse,
  refundFor: NonNullable<RequestOutcome<never>['refundFor']>,
): void {
  response.once('finish', () => {
    const stream = streamOf(response)
    if (stream === undefined || (response.writableEnded && stream.writableFinished))
      refundFor(response.statusCode)?.()
  })
}

/** Runs `release` when the response is sent or the connection is closed. It may run more than once. */
export function releaseAfterResponse(response: ServerResponse, release: () => void): void {
  const isOver = response.writableFinished || (streamOf(response) ?? response).destroyed
  if (isOver) {
    release()
    return
  }
  response.once('finish', release)
  response.once('close', release)
  if (response.socket === null) releaseBeforeTurn(response, release)
}

/** Runs `release` if the connection closes while a pipelined response waits for earlier ones, and emits no event. */
function releaseBeforeTurn(response: ServerResponse, release: () => void): void {
  const { socket } = response.req
  if (socket.destroyed) {
    release()
    return
  }
  let releases = releasesBeforeTurn.get(socket)
  if (releases === undefined) {
    const all = new Set<() => void>()
    socket.once('close', () => all.forEach((each) => void each()))
    releasesBeforeTurn.set(socket, all)
    releases = all
  }
  releases.add(release)
  response.once('socket', () => void releases.delete(release))
}

/** One listener per connection, because Node.js warns about more than ten. */
const releasesBeforeTurn = new WeakMap<Socket, Set<() => void>>()

/** Sets the headers, and joins them with those of outer limiters. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name of staleHeaders(headers)) response.removeHeader(name)
  for (const name in headers) response.setHeader(name, joinHeader(response.getHeader(name), headers[name]!))
}

/** Continues after a delay, or calls `onDisconnect` if the client disconnects before. */
export function hold(ms: number, response: ServerResponse, next: () => void, onDisconnect = () => {}): void {
  if ((streamOf(response) ?? response).destroyed) {
    onDisconnect()
    return
  }
  const timer = setTimeout(() => {
    response.off('close', onClose)
    next()
  }, ms)
  const onClose = () => {
    clearTimeout(timer)
    onDisconnect()
  }
  response.once('close', onClose)
}

/**
 * The stream of an HTTP/2 response. The response object itself also finishes when the client cancels it, and never reports
 * that it is destroyed.
 */
function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as ServerResponse & { stream?: ServerHttp2Stream }).stream
}

function send(denial: DeniedRequest<unknown>, response: ServerResponse): void {
  const { contentType, body } = denial.defaultResponse()
  response.statusCode = denial.status
  response.setHeader('Content-Type', contentType)
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
