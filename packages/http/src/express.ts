import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { nodeReader } from './node-facts.js'
import { limit } from './node-response.js'
import { type Addition, defineRateLimit, type Refusal } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

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

/** `app.use(rateLimit({ limiter }))`, or for a route: `app.get('/search', rateLimit({ limiter }), …)`. */
export function rateLimit(options: ExpressRateLimitOptions): RequestHandler {
  const rule = defineRateLimit(options, ADDITION)
  const { handler } = options

  return function rateLimit(request, response, next) {
    const refuse = handler && (({ event }: Refusal<Request>) => handler(request, response, next, event))
    limit(rule, request, { response, next, refuse })
  }
}

const ADDITION: Addition<Request> = {
  name: 'rateLimit()',
  options: ['handler'],
  reader: nodeReader({
    message: (request) => request,
    url: (request) => request.originalUrl,
    // Known only to middleware of the route itself.
    route: (request) => (request.route === undefined ? undefined : `${request.baseUrl}${request.route.path}`),
  }),
}
