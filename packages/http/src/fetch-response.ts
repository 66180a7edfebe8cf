import type { Refusal, Ruling } from './rate-limit.js'

/* How a ruling becomes a `Response`. */

export function refusalResponse(
  { status, answer }: Refusal<unknown>,
  headers: Readonly<Record<string, string>>,
  isHead: boolean,
): Response {
  const { contentType, body } = answer()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new Response(isHead ? null : text, { status, headers: { ...headers, 'Content-Type': contentType } })
}

/** The same response, with these headers. Those of some responses, such as a redirect, cannot be changed. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  try {
    setAll(response.headers, headers)
    return response
  } catch {
    const copy = new Response(response.body, response)
    setAll(copy.headers, headers)
    return copy
  }
}

/** The same response, which does what is to be done at the end when all of it has been read. */
export function whenRead(response: Response, atEnd: NonNullable<Ruling<never>['atEnd']>): Response {
  const end = atEnd(response.status)
  if (end === undefined) return response
  if (response.body === null) {
    end()
    return response
  }
  const body = response.body.pipeThrough(new TransformStream({ flush: end }))
  return new Response(body, response)
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

function setAll(to: Headers, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) to.set(name, headers[name]!)
}
