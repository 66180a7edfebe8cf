import type { Context, Middleware, Next } from 'koa'
import { asError } from '../middleware/as-error.js'
import {
  type DeniedRequest,
  defineRateLimit,
  type FrameworkAdapter,
  type RequestOutcome,
} from '../middleware/rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { targetOf } from '../path/target.js'
import { koaProxies } from './framework-proxies.js'
import { nodeReader } from './node-facts.js'
import { hold, refundAfterSend, releaseAfterResponse, setHeaders } from './node-response.js'

export type { RateLimitEvent }

/** Options of `rateLimit`. */
export interface KoaRateLimitOptions extends RateLimitOptions<Context> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (context: Context, event: RateLimitEvent<Context>) => unknown
}

/**
 * Creates rate limiting middleware for Koa.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/koa'
 *
 * app.use(rateLimit({ limit: 100, window: '1m' }))
 * ```
 */
export function rateLimit(options: KoaRateLimitOptions): Middleware {
  const { check } = defineRateLimit(options, ADAPTER)
  const { handler } = options

  async function deny(
    { event, status, defaultResponse }: DeniedRequest<Context>,
    context: Context,
  ): Promise<void> {
    try {
      if (handler !== undefined) {
        await handler(context, event)
        return
      }
      const { contentType, body } = defaultResponse()
      context.status = status
      context.type = contentType
      context.body = body
    } catch (error) {
      throw asError(error)
    }
  }

  return function rateLimit(context, next) {
    // Not in an async function: a rejection would leave the request of another framework without a response.
    if (typeof context?.res?.setHeader !== 'function' || typeof next !== 'function')
      throw wrongArguments('rateLimit() of @tidegate/http/koa', 'a context of Koa', context)
    return limit(context, next)
  }

  async function limit(context: Context, next: Next): Promise<void> {
    const { isGone, denial, headers, holdMs, refundFor, release } = await check(context)
    if (release !== undefined) releaseAfterResponse(context.res, release)
    if (isGone) return
    if (!context.headerSent) setHeaders(context.res, headers)
    if (denial !== undefined) {
      await deny(denial, context)
      return
    }
    if (refundFor !== undefined) refundAfterSend(context.res, refundFor)
    if (holdMs > 0 && !(await isHeld(holdMs, context))) return
    try {
      await next()
    } catch (error) {
      keepHeaders(error, context, headers)
      throw error
    }
  }
}

/** Resolves to true after the delay, or to false as soon as the client disconnects. */
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

/** Copies the headers to the error, because Koa sends only the headers of the error. */
function keepHeaders(error: unknown, context: Context, headers: RequestOutcome<Context>['headers']): void {
  if (typeof error !== 'object' || error === null || !Object.isExtensible(error)) return
  const { headers: errorHeaders } = error as { headers?: object }
  // An inner limiter may have removed some of the headers.
  const names = Object.keys(headers).filter((name) => context.res.hasHeader(name))
  const responseHeaders = names.map((name) => [name, context.response.get(name)])
  Object.assign(error, { headers: { ...Object.fromEntries(responseHeaders), ...errorHeaders } })
}

/** koa-mount sets `mountPath`, of nested mounts only the inner one, and removes the prefix from `path`. */
function mountOf({ mountPath, path, originalUrl }: Context): string | undefined {
  const whole = typeof mountPath === 'string' ? targetOf(originalUrl).path : ''
  return whole.endsWith(path) ? whole.slice(0, -path.length) : undefined
}

const ADAPTER: FrameworkAdapter<Context> = {
  name: 'rateLimit()',
  optionNames: ['handler'],
  reader: nodeReader({
    message: (context) => context.req,
    url: (context) => context.originalUrl,
    // Unknown once a mounted router has removed its prefix.
    routed: (context) => (context.url === context.originalUrl ? context.path : undefined),
    mount: mountOf,
    // Set by @koa/router for its own middleware.
    route: (context) => (typeof context._matchedRoute === 'string' ? context._matchedRoute : undefined),
    proxies: koaProxies,
  }),
}
