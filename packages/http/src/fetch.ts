import type { MaybePromise } from '@tidegate/core'
import { fetchFacts, peerOf } from './fetch-facts.js'
import { goneResponse, hold, refusalResponse, whenRead, withHeaders } from './fetch-response.js'
import { defineRateLimit } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

export type { RateLimitEvent }

/** What Bun, Deno, Workers and Next.js call to answer a request. */
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => MaybePromise<Response>

export interface FetchRateLimitOptions extends RateLimitOptions<Request> {
  /** The address of the connection, for a runtime that does not say it. Default: as Bun, Deno and Hono say it. */
  peer?: (request: Request, ...rest: unknown[]) => string | null | undefined
  /** Answers a refusal itself; the headers are added to its answer. Default: ours. */
  handler?: (request: Request, event: RateLimitEvent<Request>) => MaybePromise<Response>
}

/** `export default { fetch: rateLimit({ limiter })((request) => new Response('hello')) }` */
export function rateLimit(
  options: FetchRateLimitOptions,
): <Rest extends unknown[]>(
  handler: Handler<Rest>,
) => (request: Request, ...rest: Rest) => Promise<Response> {
  const { peer, handler: refuse } = options ?? {}
  const { decide } = defineRateLimit(options, {
    name: 'rateLimit()',
    options: ['peer', 'handler'],
    reader: {
      facts: (request, whoIs, rest) =>
        fetchFacts(request, whoIs, () =>
          peer === undefined ? peerOf(request, rest) : (peer(request, ...rest) ?? undefined),
        ),
      identity: (request) => request,
    },
  })

  return (handler) =>
    async function rateLimit(request, ...rest) {
      const { refusal, headers, holdMs, atEnd } = await decide(request, rest)
      if (refusal !== undefined) {
        if (refuse !== undefined) return withHeaders(await refuse(request, refusal.event), headers)
        return refusalResponse(refusal, headers, request.method === 'HEAD')
      }
      if (holdMs > 0 && !(await hold(holdMs, request.signal))) return goneResponse()
      const response = withHeaders(await handler(request, ...rest), headers)
      return atEnd === undefined ? response : whenRead(response, atEnd)
    }
}
