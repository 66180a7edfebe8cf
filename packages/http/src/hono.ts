import type { MaybePromise } from '@tidegate/core'
import type { Context, MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { fetchFacts, peerOf } from './fetch-facts.js'
import { goneResponse, hold, refusalResponse, whenRead, withHeaders } from './fetch-response.js'
import { defineRateLimit } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

export type { RateLimitEvent }

export interface HonoRateLimitOptions extends RateLimitOptions<Context> {
  /** The address of the connection, for a runtime that does not say it. Default: as Node, Bun and Deno say it. */
  peer?: (context: Context) => string | null | undefined
  /** Answers a refusal itself; the headers are added to its answer. Default: ours. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => MaybePromise<Response>
}

/** `app.use(rateLimit({ limiter }))` */
export function rateLimit(options: HonoRateLimitOptions): MiddlewareHandler {
  const { peer, handler } = options ?? {}
  const { decide } = defineRateLimit(options, {
    name: 'rateLimit()',
    options: ['peer', 'handler'],
    reader: {
      facts: (context, whoIs) =>
        fetchFacts(
          context.req.raw,
          whoIs,
          () => (peer === undefined ? peerOf(context.req.raw, [context.env]) : (peer(context) ?? undefined)),
          () => handlersPath(context),
        ),
      identity: (context) => context.req.raw,
    },
  })

  return async function rateLimit(context, next) {
    const { refusal, headers, holdMs, atEnd } = await decide(context)
    if (refusal !== undefined) {
      if (handler !== undefined) return withHeaders(await handler(context, refusal.event), headers)
      return refusalResponse(refusal, headers, context.req.method === 'HEAD')
    }
    if (holdMs > 0 && !(await hold(holdMs, context.req.raw.signal))) return goneResponse()
    await next()
    for (const name in headers) context.header(name, headers[name]!)
    if (atEnd !== undefined) context.res = whenRead(context.res, atEnd)
    return undefined
  }
}

/** The path of the last that matches: of the handler, and not of a middleware such as this. */
function handlersPath(context: Context): string | undefined {
  return routePath(context, -1) || undefined
}
