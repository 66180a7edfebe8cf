import type { Context, Middleware, Next } from 'koa'
import { nodeReader } from './node-facts.js'
import { hold, whenSent } from './node-response.js'
import { type Addition, defineRateLimit, type Ruling } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'
import { isPromise } from './when.js'

export type { RateLimitEvent }

export interface KoaRateLimitOptions extends RateLimitOptions<Context> {
  /** Answers a refusal itself; the headers are set. Default: ours. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => unknown
}

/** `app.use(rateLimit({ limiter }))` */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const { decide } = defineRateLimit(options, ADDITION)
  const { handler } = options

  function carryOut(ruling: Ruling<Context>, context: Context, next: Next): unknown {
    const { refusal, headers, holdMs, atEnd } = ruling
    context.set(headers)
    if (refusal !== undefined) {
      if (handler !== undefined) return handler(context, refusal.event)
      const { contentType, body } = refusal.answer()
      context.status = refusal.status
      context.type = contentType
      context.body = body
      return undefined
    }
    if (atEnd !== undefined) whenSent(context.res, atEnd)
    if (holdMs === 0) return next()
    return new Promise<void>((resolve) => hold(holdMs, context.res, resolve)).then(next)
  }

  return function rateLimit(context, next) {
    const ruling = decide(context)
    return isPromise(ruling)
      ? ruling.then((ruling) => carryOut(ruling, context, next))
      : carryOut(ruling, context, next)
  }
}

const ADDITION: Addition<Context> = {
  name: 'rateLimit()',
  options: ['handler'],
  reader: nodeReader({
    message: (context) => context.req,
    url: (context) => context.originalUrl,
    // Set by @koa/router, for what it calls.
    route: (context) => (typeof context._matchedRoute === 'string' ? context._matchedRoute : undefined),
  }),
}
