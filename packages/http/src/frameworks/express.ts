import type { NextFunction, Request, Response } from 'express'
import { type DeniedRequest, defineRateLimit, type FrameworkAdapter } from '../middleware/rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { targetOf } from '../path/target.js'
import { expressProxies } from './framework-proxies.js'
import { nodeReader } from './node-facts.js'
import { limitRequest } from './node-response.js'

export type { RateLimitEvent }

/** Options of `rateLimit`. */
export interface ExpressRateLimitOptions extends RateLimitOptions<Request> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (
    request: Request,
    response: Response,
    next: NextFunction,
    event: RateLimitEvent<Request>,
  ) => unknown
}

/** The middleware. Generic, so that `request.params` keeps the type of the route. */
export type ExpressRateLimit = <Params, Reply, Body, Query>(
  request: Request<Params, Reply, Body, Query>,
  response: Response<Reply>,
  next: NextFunction,
) => void

/**
 * Creates rate limiting middleware for Express.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/express'
 *
 * app.use(rateLimit({ limit: 100, window: '1m' }))
 * app.post('/login', rateLimit({ limit: 5, window: '15m', name: 'login' }), login)
 * ```
 */
export function rateLimit(options: ExpressRateLimitOptions): ExpressRateLimit {
  const limiter = defineRateLimit(options, ADAPTER)
  const { handler } = options

  return function rateLimit(anyRequest, response, next) {
    if (typeof response?.setHeader !== 'function' || typeof next !== 'function')
      throw wrongArguments('rateLimit() of @tidegate/http/express', 'a request of Express', anyRequest)
    const request = anyRequest as Request
    const deny = handler && (({ event }: DeniedRequest<Request>) => handler(request, response, next, event))
    void limitRequest(limiter, request, { response, next, deny })
  }
}

const ADAPTER: FrameworkAdapter<Request> = {
  name: 'rateLimit()',
  optionNames: ['handler'],
  reader: nodeReader({
    message: (request) => request,
    url: (request) => request.originalUrl,
    routed: (request) => `${request.baseUrl}${request.path}`,
    mount: (request) => request.baseUrl,
    // Set only in middleware of the route itself.
    route: (request) =>
      request.route === undefined ? undefined : `${mountOf(request)}${request.route.path}`,
    proxies: (request) => expressProxies(request),
  }),
}

/**
 * The mount path of the route's router. Express keeps the client's spelling, with values instead of parameters. The
 * parameters are available if the router has `mergeParams`.
 */
function mountOf({ baseUrl, params }: Request): string {
  if (baseUrl === '') return ''
  const segments = targetOf(baseUrl).path.toLowerCase().split('/')
  for (const [name, value] of Object.entries(params)) {
    const at = segments.indexOf(
      targetOf(`/${encodeURIComponent(String(value))}`)
        .path.slice(1)
        .toLowerCase(),
    )
    if (at > 0) segments[at] = `:${name}`
  }
  return segments.join('/')
}
