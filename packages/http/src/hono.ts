import type { MaybePromise } from '@tidegate/core'
import type { Context, MiddlewareHandler } from 'hono'
import type { RouterRoute } from 'hono/types'
import { fetchFacts } from './fetch-facts.js'
import { besideOthers, goneResponse, hold, refusalResponse, whenRead, withHeaders } from './fetch-response.js'
import { defineRateLimit } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

export type { RateLimitEvent }

export interface HonoRateLimitOptions extends RateLimitOptions<Context> {
  /** The client's address, for runtimes that do not pass it. Default: as Node, Bun and Deno pass it. */
  peer?: (context: Context) => string | null | undefined
  /** Responds to a denied request; the headers are added to the response. Default: the default response. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => MaybePromise<Response>
}

/** `app.use(rateLimit({ limit: 100, window: '1m' }))` */
export function rateLimit(options: HonoRateLimitOptions): MiddlewareHandler {
  const { peer, handler } = options ?? {}
  const { decide } = defineRateLimit(options, {
    name: 'rateLimit()',
    options: ['peer', 'handler'],
    reader: {
      facts: (context, findIp) =>
        fetchFacts(context.req.raw, findIp, {
          rest: [context.env],
          peer: peer && (() => peer(context)),
          route: () => handlersPath(context),
        }),
      identity: (context) => context.req.raw,
    },
  })

  return async function rateLimit(context, next) {
    const { isGone, refusal, headers, holdMs, atEnd } = await decide(context)
    const request = context.req.raw
    if (isGone) return goneResponse()
    if (refusal !== undefined) {
      const all = besideOthers(request, headers)
      if (handler !== undefined) return withHeaders(await handler(context, refusal.event), all)
      return refusalResponse(refusal, all, request.method === 'HEAD')
    }
    if (holdMs > 0 && !(await hold(holdMs, request.signal))) return goneResponse()
    await next()
    const all = besideOthers(request, headers)
    for (const name in all) context.header(name, all[name]!)
    if (atEnd !== undefined) context.res = whenRead(context.res, request, atEnd)
    return undefined
  }
}

/**
 * The path of the handler: the last match that is neither for all methods, like middleware, nor for all paths, like a
 * catch-all. If there is none, the last match.
 */
function handlersPath(context: Context): string | undefined {
  const isHandler = ({ method, path }: RouterRoute) => method !== 'ALL' && path !== '*' && path !== '/*'
  // Not by `hono/route`, which Hono has only since 4.8.
  const matched = context.req.matchedRoutes
  return (matched.findLast(isHandler) ?? matched.at(-1))?.path
}
