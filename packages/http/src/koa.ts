import type { Context, Middleware, Next } from 'koa'
import { nodeReader } from './node-facts.js'
import { hold, setHeaders, whenSent } from './node-response.js'
import { type Addition, defineRateLimit, type Refusal, type Ruling } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'
import { asError } from './thrown.js'
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
    const { isGone, refusal, headers, holdMs, atEnd } = ruling
    if (isGone) return undefined
    if (!context.headerSent) setHeaders(context.res, headers)
    if (refusal !== undefined) return refuse(refusal, context)
    if (atEnd !== undefined) whenSent(context.res, atEnd)
    if (holdMs === 0) return next().catch(keepHeaders)
    return new Promise<void>((resolve, reject) => {
      // What is in front waits for us, and has to end whatever it has begun.
      hold(holdMs, context.res, () => next().catch(keepHeaders).then(resolve, reject), resolve)
    })

    /** Of an answer to an error Koa takes off all headers but those that come with the error. */
    function keepHeaders(error: unknown): never {
      if (typeof error === 'object' && error !== null && Object.isExtensible(error)) {
        const { headers: own } = error as { headers?: object }
        // A limiter further inside may have taken some of them off.
        const ours = Object.keys(headers).filter((name) => context.res.hasHeader(name))
        const all = ours.map((name) => [name, context.response.get(name)])
        Object.assign(error, { headers: { ...Object.fromEntries(all), ...own } })
      }
      throw error
    }
  }

  async function refuse({ event, status, answer }: Refusal<Context>, context: Context): Promise<unknown> {
    try {
      if (handler !== undefined) return await handler(context, event)
      const { contentType, body } = answer()
      context.status = status
      context.type = contentType
      context.body = body
      return undefined
    } catch (error) {
      throw asError(error)
    }
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
    // Not after something has cut a part off it.
    routed: (context) => (context.url === context.originalUrl ? context.path : undefined),
    // Set by @koa/router, for what it calls.
    route: (context) => (typeof context._matchedRoute === 'string' ? context._matchedRoute : undefined),
  }),
}
