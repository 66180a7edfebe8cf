import type { MaybePromise } from '@tidegate/core'
import { fetchFacts } from './fetch-facts.js'
import { besideOthers, goneResponse, hold, refusalResponse, whenRead, withHeaders } from './fetch-response.js'
import { defineRateLimit } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

export type { RateLimitEvent }

/** A request handler of Bun, Deno, Workers or Next.js. */
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => MaybePromise<Response>

export interface FetchRateLimitOptions extends RateLimitOptions<Request> {
  /** The client's address, for runtimes that do not pass it. Default: as Bun, Deno and Hono on Node pass it. */
  peer?: (request: Request, ...rest: unknown[]) => string | null | undefined
  /** Responds to a denied request; the headers are added to the response. Default: the default response. */
  handler?: (request: Request, event: RateLimitEvent<Request>) => MaybePromise<Response>
}

/** `export default { fetch: rateLimit({ limit: 100, window: '1m' })((request) => new Response('hello')) }` */
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
      facts: (request, findIp, rest) =>
        fetchFacts(request, findIp, { rest, peer: peer && (() => peer(request, ...rest)) }),
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
        // The runtime responds with 500.
        atEnd?.(500)?.()
        throw error
      }
      const response = withHeaders(answer, besideOthers(request, headers))
      return atEnd === undefined ? response : whenRead(response, request, atEnd)
    }
}
