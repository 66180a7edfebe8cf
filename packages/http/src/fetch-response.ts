import { joinField, outdatedBy } from './headers.js'
import type { Refusal, Ruling } from './rate-limit.js'

type Fields = Readonly<Record<string, string>>

/* How a ruling becomes a `Response`. */

export function refusalResponse(
  { status, answer }: Refusal<unknown>,
  headers: Fields,
  isHead: boolean,
): Response {
  const { contentType, body } = answer()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(isHead ? null : text, { status, headers: { ...headers, 'Content-Type': contentType } })
}

/** The same response, with these headers. Those of some responses, such as a redirect, cannot be changed. */
export function withHeaders(response: Response, headers: Fields): Response {
  try {
    setAll(response.headers, headers)
    return response
  } catch {
    // `Response.error()` goes nowhere, and cannot be copied.
    if (response.type === 'error') return response
    const copy = new Response(response.body, response)
    setAll(copy.headers, headers)
    return copy
  }
}

/**
 * Our headers, beside those of limiters further inside, which have answered this request before. They are noted by the
 * request: an answer may be one object for many requests.
 */
export function besideOthers(request: Request, headers: Fields): Fields {
  const inner = written.get(request) ?? {}
  const all: Record<string, string> = { ...headers }
  for (const name of outdatedBy(inner)) delete all[name]
  for (const name in inner) all[name] = joinField(headers[name], inner[name]!)
  written.set(request, all)
  return all
}

const written = new WeakMap<Request, Fields>()

/** The same response, which does what is to be done at the end when all of it has been read. */
export function whenRead(
  response: Response,
  { method, signal }: Request,
  atEnd: NonNullable<Ruling<never>['atEnd']>,
): Response {
  const end = atEnd(response.status)
  if (end === undefined) return response
  // To HEAD no body is sent, whatever there is.
  if (response.body === null || method === 'HEAD') {
    end()
    return response
  }
  const flush = () => {
    if (!signal.aborted) end()
  }
  return new Response(response.body.pipeThrough(new TransformStream({ flush })), response)
}

/** Whether the request is still wanted after so long. It is not if the client hangs up before. */
export function hold(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', letGo)
      resolve(true)
    }, ms)
    const letGo = () => {
      clearTimeout(timer)
      resolve(false)
    }
    signal.addEventListener('abort', letGo, { once: true })
  })
}

/** For a client that has gone: nobody reads it. 499 is what nginx writes into its log then. */
export function goneResponse(): Response {
  return new Response(null, { status: 499 })
}

function setAll(to: Headers, headers: Fields): void {
  for (const name in headers) to.set(name, headers[name]!)
}
