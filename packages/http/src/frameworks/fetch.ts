import type { MaybePromise } from '@tidegate/core'
import { defineRateLimit } from '../middleware/rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { fetchFacts } from './fetch-facts.js'
import {
  earlyResponse,
  mergeHeaders,
  refundAfterRead,
  releaseAfterRead,
  withHeaders,
} from './fetch-response.js'

export type { RateLimitEvent }

/** A request handler of Bun, Deno, Workers or Next.js. */
export type FetchHandler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => MaybePromise<Response>

/** Options of `rateLimit`. */
export interface FetchRateLimitOptions extends RateLimitOptions<Request> {
  /** Returns the address of the connection. Default: the address that Bun, Deno or Hono on Node.js pass. */
  peer?: (request: Request, ...rest: unknown[]) => string | null | undefined
  /** Responds to a denied request; the headers are added to the response. Default: the default response. */
  handler?: (request: Request, event: RateLimitEvent<Request>) => MaybePromise<Response>
}

/**
 * Creates a wrapper that limits the requests of a fetch handler: Bun, Deno, Cloudflare Workers, Next.js.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/fetch'
 *
 * const limited = rateLimit({ limit: 100, window: '1m' })
 * export default { fetch: limited((request) => new Response('hello')) }
 * ```
 */
export function rateLimit(
  options: FetchRateLimitOptions,
): <Rest extends unknown[]>(
  handler: FetchHandler<Rest>,
) => (request: Request, ...rest: Rest) => Promise<Response> {
  const { peer, handler } = options ?? {}
  const { check } = defineRateLimit(options, {
    name: 'rateLimit()',
    optionNames: ['peer', 'handler'],
    reader: {
      facts: (request, findIp, rest) =>
        fetchFacts(request, findIp, { rest, peer: peer && (() => peer(request, ...rest)) }),
      identity: (request) => request,
    },
  })

  return (next) => {
    // Middleware that is not called with a handler is called with a request, and would never respond to it.
    if (typeof next !== 'function') throw wrongArguments(NAME, 'a handler', next)
    return async function rateLimit(request, ...rest) {
      if (typeof request?.headers?.get !== 'function') throw wrongArguments(NAME, 'a Request', request)
      const outcome = await check(request, rest)
      const { headers, refundFor, release } = outcome
      try {
        const early = await earlyResponse(outcome, request, handler && ((event) => handler(request, event)))
        if (early !== undefined) {
          release?.()
          return early
        }
        let response: Response
        try {
          response = await next(request, ...rest)
        } catch (error) {
          // The runtime responds with 500.
          refundFor?.(500)?.()
          throw error
        }
        const limited = withHeaders(response, mergeHeaders(request, headers))
        const refunding = refundFor === undefined ? limited : refundAfterRead(limited, request, refundFor)
        return release === undefined ? refunding : releaseAfterRead(refunding, request, release)
      } catch (error) {
        release?.()
        throw error
      }
    }
  }
}

const NAME = 'rateLimit() of @tidegate/http/fetch'
