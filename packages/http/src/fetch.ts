import type { MaybePromise } from '@tidegate/core'
import { fetchFacts } from './fetch-facts.js'
import { besideOthers, goneResponse, hold, refusalResponse, whenRead, withHeaders } from './fetch-response.js'
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
        fetchFacts(request, whoIs, { rest, peer: peer && (() => peer(request, ...rest)) }),
      identity: (request) => request,
    },
  })

  return (handler) =>
    async function rateLimit(request, ...rest) {
      const { isGone, refusal, headers, holdMs, atEnd } = await decide(request, rest)
      if (isGone) return goneResponse()
      if (refusal !== undefined) {
        const all = besideOthers(request, headers)
        if (refuse !== undefined) return withHeaders(await refuse(request, refusal.event), all)
        return refusalResponse(refusal, all, request.method === 'HEAD')
      }
      if (holdMs > 0 && !(await hold(holdMs, request.signal))) return goneResponse()
      let answer: Response
      try {
        answer = await handler(request, ...rest)
      } catch (error) {
        // What a runtime makes of it is a 500.
        atEnd?.(500)?.()
        throw error
      }
      const response = withHeaders(answer, besideOthers(request, headers))
      return atEnd === undefined ? response : whenRead(response, request, atEnd)
    }
}
