import type { NextFunction, Request, Response } from 'express'
import { nodeReader } from './node-facts.js'
import { limit } from './node-response.js'
import { type Addition, defineRateLimit, type Refusal } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'
import { targetOf } from './target.js'

export type { RateLimitEvent }

export interface ExpressRateLimitOptions extends RateLimitOptions<Request> {
  /** Answers a refusal itself; the headers are set. Default: ours. */
  handler?: (
    request: Request,
    response: Response,
    next: NextFunction,
    event: RateLimitEvent<Request>,
  ) => unknown
}

/**
 * Middleware for whatever parameters a route has. A `RequestHandler` has parameters of its own, and with it in front the
 * type of `request.params` would no longer be the route's.
 */
export type ExpressRateLimit = <Params, Answer, Body, Query>(
  request: Request<Params, Answer, Body, Query>,
  response: Response<Answer>,
  next: NextFunction,
) => void

/** `app.use(rateLimit({ limiter }))`, or for a route: `app.get('/search', rateLimit({ limiter }), …)`. */
export function rateLimit(options: ExpressRateLimitOptions): ExpressRateLimit {
  const rateLimiting = defineRateLimit(options, ADDITION)
  const { handler } = options

  return function rateLimit(asked, response, next) {
    const request = asked as Request
    const refuse = handler && (({ event }: Refusal<Request>) => handler(request, response, next, event))
    limit(rateLimiting, request, { response, next, refuse })
  }
}

const ADDITION: Addition<Request> = {
  name: 'rateLimit()',
  options: ['handler'],
  reader: nodeReader({
    message: (request) => request,
    url: (request) => request.originalUrl,
    routed: (request) => `${request.baseUrl}${request.path}`,
    // Known only to middleware of the route itself.
    route: (request) =>
      request.route === undefined ? undefined : `${mountOf(request)}${request.route.path}`,
  }),
}

/**
 * Where the router of a route is mounted. Express has only what the client wrote: in upper or lower case, and with values
 * in place of parameters. Those are known if the router has `mergeParams`.
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
