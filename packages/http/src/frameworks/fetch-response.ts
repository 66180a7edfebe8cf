import type { MaybePromise } from '@tidegate/core'
import type { DeniedRequest, RequestOutcome } from '../middleware/rate-limit.js'
import type { RateLimitEvent } from '../middleware/rate-limit-options.js'
import { joinHeader, staleHeaders } from '../response/headers.js'

type Fields = Readonly<Record<string, string>>

/* Applies an outcome to a `Response`. */

/**
 * The response to a request that does not pass, because it is denied or its client has disconnected. Undefined for a
 * request that passes, once it has been held.
 */
export async function earlyResponse<FrameworkRequest>(
  { isGone, denial, headers, holdMs }: RequestOutcome<FrameworkRequest>,
  request: Request,
  handler: ((event: RateLimitEvent<FrameworkRequest>) => MaybePromise<Response>) | undefined,
): Promise<Response | undefined> {
  if (isGone) return disconnectedResponse()
  if (denial !== undefined) {
    const allHeaders = mergeHeaders(request, headers)
    if (handler !== undefined) return withHeaders(await handler(denial.event), allHeaders)
    return denialResponse(denial, allHeaders, request.method === 'HEAD')
  }
  if (holdMs > 0 && !(await hold(holdMs, request.signal))) return disconnectedResponse()
  return undefined
}

function denialResponse(
  { status, defaultResponse }: DeniedRequest<unknown>,
  headers: Fields,
  isHead: boolean,
): Response {
  const { contentType, body } = defaultResponse()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(isHead ? null : text, { status, headers: { ...headers, 'Content-Type': contentType } })
}

/** Sets headers of a response. Returns a copy if its headers are immutable, as those of a redirect. */
export function withHeaders(response: Response, headers: Fields): Response {
  try {
    setAll(response.headers, headers)
    return response
  } catch {
    // `Response.error()` cannot be copied.
    if (response.type === 'error') return response
    const copy = new Response(response.body, response)
    setAll(copy.headers, headers)
    return copy
  }
}

/**
 * Merges the headers of this limiter with those of inner limiters. They are stored by request, because one response object
 * can serve many requests.
 */
export function mergeHeaders(request: Request, headers: Fields): Fields {
  const inner = headersByRequest.get(request) ?? {}
  const all: Record<string, string> = { ...headers }
  for (const name of staleHeaders(inner)) delete all[name]
  for (const name in inner) all[name] = joinHeader(headers[name], inner[name]!)
  headersByRequest.set(request, all)
  return all
}

const headersByRequest = new WeakMap<Request, Fields>()

/** Returns a response that refunds once its whole body has been read. */
export function refundAfterRead(
  response: Response,
  { method, signal }: Request,
  refundFor: NonNullable<RequestOutcome<never>['refundFor']>,
): Response {
  const refund = refundFor(response.status)
  if (refund === undefined) return response
  // The body of a response to HEAD is never sent.
  if (response.body === null || method === 'HEAD') {
    refund()
    return response
  }
  const flush = () => {
    if (!signal.aborted) refund()
  }
  return new Response(response.body.pipeThrough(new TransformStream({ flush })), response)
}

/**
 * Returns a response that runs `release` once its body has been read, cancelled or dropped. `release` may run more than
 * once.
 */
export function releaseAfterRead(
  response: Response,
  { method, signal }: Request,
  release: () => void,
): Response {
  // The body of a response to HEAD is never sent.
  if (response.body === null || method === 'HEAD' || signal.aborted) {
    release()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        release()
        controller.close()
      } catch (error) {
        release()
        throw error
      }
    },
    cancel(reason) {
      release()
      return reader.cancel(reason)
    },
  })
  signal.addEventListener('abort', release, { once: true })
  // A runtime may drop a response without reading or cancelling it.
  unreadBodies.register(body, release)
  return new Response(body, response)
}

const unreadBodies = new FinalizationRegistry((release: () => void) => release())

/** Resolves to true after the delay, or to false as soon as the client disconnects. */
function hold(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve(true)
    }, ms)
    const onAbort = () => {
      clearTimeout(timer)
      resolve(false)
    }
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** The response to a disconnected client. 499 is the status that nginx logs. */
function disconnectedResponse(): Response {
  return new Response(null, { status: 499 })
}

function setAll(to: Headers, headers: Fields): void {
  for (const name in headers) to.set(name, headers[name]!)
}
