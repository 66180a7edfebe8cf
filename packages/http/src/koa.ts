import type { Context, Middleware } from 'koa'
import { koaProxies } from './framework-proxies.js'
import { nodeReader } from './node-facts.js'
import { hold, setHeaders, whenSent } from './node-response.js'
import { type Addition, defineRateLimit, type Refusal, type Ruling } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'
import { asError } from './thrown.js'

export type { RateLimitEvent }

export interface KoaRateLimitOptions extends RateLimitOptions<Context> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => unknown
}

/** `app.use(rateLimit({ limit: 100, window: '1m' }))` */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const { decide } = defineRateLimit(options, ADDITION)
  const { handler } = options

  async function refuse({ event, status, answer }: Refusal<Context>, context: Context): Promise<void> {
    try {
      if (handler !== undefined) {
        await handler(context, event)
        return
      }
      const { contentType, body } = answer()
      context.status = status
      context.type = contentType
      context.body = body
    } catch (error) {
      throw asError(error)
    }
  }

  return async function rateLimit(context, next) {
    const { isGone, refusal, headers, holdMs, atEnd } = await decide(context)
    if (isGone) return
    if (!context.headerSent) setHeaders(context.res, headers)
    if (refusal !== undefined) {
      await refuse(refusal, context)
      return
    }
    if (atEnd !== undefined) whenSent(context.res, atEnd)
    if (holdMs > 0 && !(await isHeld(holdMs, context))) return
    try {
      await next()
    } catch (error) {
      keepHeaders(error, context, headers)
      throw error
    }
  }
}

/** Resolves after the delay to true, or to false as soon as the client disconnects. */
function isHeld(ms: number, context: Context): Promise<boolean> {
  return new Promise((resolve) => {
    hold(
      ms,
      context.res,
      () => resolve(true),
      () => resolve(false),
    )
  })
}

/** Koa removes all headers from the response to an error, except for those of the error. */
function keepHeaders(error: unknown, context: Context, headers: Ruling<Context>['headers']): void {
  if (typeof error !== 'object' || error === null || !Object.isExtensible(error)) return
  const { headers: own } = error as { headers?: object }
  // A limiter further inside may have removed some of them.
  const kept = Object.keys(headers).filter((name) => context.res.hasHeader(name))
  const all = kept.map((name) => [name, context.response.get(name)])
  Object.assign(error, { headers: { ...Object.fromEntries(all), ...own } })
}

const ADDITION: Addition<Context> = {
  name: 'rateLimit()',
  options: ['handler'],
  reader: nodeReader({
    message: (context) => context.req,
    url: (context) => context.originalUrl,
    // Unknown once a mounted router has removed its prefix.
    routed: (context) => (context.url === context.originalUrl ? context.path : undefined),
    // Set by @koa/router for its own middleware.
    route: (context) => (typeof context._matchedRoute === 'string' ? context._matchedRoute : undefined),
    proxies: koaProxies,
  }),
}
