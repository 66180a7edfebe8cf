import type { MaybePromise } from '@tidegate/core'
import type { Context, MiddlewareHandler, Next } from 'hono'
import type { RouterRoute } from 'hono/types'
import { defineRateLimit } from '../middleware/rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { fetchFacts } from './fetch-facts.js'
import { earlyResponse, mergeHeaders, refundAfterRead, releaseAfterRead } from './fetch-response.js'

export type { RateLimitEvent }

/** Options of `rateLimit`. */
export interface HonoRateLimitOptions extends RateLimitOptions<Context> {
  /** Returns the address of the connection. Default: the address that Node.js, Bun or Deno pass. */
  peer?: (context: Context) => string | null | undefined
  /** Responds to a denied request; the headers are added to the response. Default: the default response. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => MaybePromise<Response>
}

/**
 * Creates rate limiting middleware for Hono.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/hono'
 *
 * app.use(rateLimit({ limit: 100, window: '1m' }))
 * ```
 */
export function rateLimit(options: HonoRateLimitOptions): MiddlewareHandler {
  const { peer, handler } = options ?? {}
  const { check } = defineRateLimit(options, {
    name: 'rateLimit()',
    optionNames: ['peer', 'handler'],
    reader: {
      facts: (context, findIp) =>
        fetchFacts(context.req.raw, findIp, {
          rest: [context.env],
          peer: peer && (() => peer(context)),
          route: () => handlersPath(context),
          mount: () => mountOf(context),
        }),
      identity: (context) => context.req.raw,
    },
  })

  return function rateLimit(context, next) {
    // Not in an async function: a rejection would leave the request of another framework without a response.
    if (typeof context?.req?.header !== 'function' || typeof next !== 'function')
      throw wrongArguments('rateLimit() of @tidegate/http/hono', 'a context of Hono', context)
    return limit(context, next)
  }

  async function limit(context: Context, next: Next): Promise<Response | undefined> {
    const outcome = await check(context)
    const request = context.req.raw
    const { headers, refundFor, release } = outcome
    try {
      const early = await earlyResponse(outcome, request, handler && ((event) => handler(context, event)))
      if (early !== undefined) {
        release?.()
        return early
      }
      await next()
      const allHeaders = mergeHeaders(request, headers)
      for (const name in allHeaders) context.header(name, allHeaders[name]!)
      if (refundFor !== undefined) context.res = refundAfterRead(context.res, request, refundFor)
      if (release !== undefined) context.res = releaseAfterRead(context.res, request, release)
    } catch (error) {
      release?.()
      throw error
    }
    return undefined
  }
}

/**
 * The base path of the application that the middleware is used in. Older versions of Hono do not expose it, and no route
 * matches in a `notFound` handler.
 */
function mountOf({ req }: Context): string | undefined {
  const route = req.matchedRoutes[req.routeIndex] as Partial<RouterRoute> | undefined
  return route?.basePath === '/' ? undefined : route?.basePath
}

/**
 * The path of the handler: the last match that is neither for all methods, like middleware, nor for all paths, like a
 * catch-all. If there is none, the last match.
 */
function handlersPath(context: Context): string | undefined {
  const isHandler = ({ method, path }: RouterRoute) => method !== 'ALL' && path !== '*' && path !== '/*'
  // Not `hono/route`, which needs Hono 4.8.
  const matched = context.req.matchedRoutes
  return (matched.findLast(isHandler) ?? matched.at(-1))?.path
}
