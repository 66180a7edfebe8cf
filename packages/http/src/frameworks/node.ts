import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DeniedRequest, defineRateLimit, type FrameworkAdapter } from '../middleware/rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { nodeReader } from './node-facts.js'
import { limitRequest } from './node-response.js'

export type { RateLimitEvent }

/** A request handler of `node:http`. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown

/** Options of `rateLimit`. */
export interface NodeRateLimitOptions extends RateLimitOptions<IncomingMessage> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (
    request: IncomingMessage,
    response: ServerResponse,
    event: RateLimitEvent<IncomingMessage>,
  ) => unknown
  /** Responds when a function in the options throws. Default: logs the error and responds with 500. */
  onError?: (error: unknown, request: IncomingMessage, response: ServerResponse) => unknown
}

/**
 * Creates a wrapper that limits the requests of a `node:http` handler.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/node'
 *
 * const limited = rateLimit({ limit: 100, window: '1m' })
 * createServer(limited((request, response) => response.end('hello'))).listen(3000)
 * ```
 */
export function rateLimit(options: NodeRateLimitOptions): (handler: NodeHandler) => NodeHandler {
  const limiter = defineRateLimit(options, ADAPTER)
  const { handler: denyWith, onError = respondWith500 } = options

  return (handler) => {
    // Middleware that is not called with a handler is called with a request, and would never respond to it.
    if (typeof handler !== 'function') throw wrongArguments(NAME, 'a handler', handler)
    return function rateLimit(request, response) {
      if (typeof response?.setHeader !== 'function')
        throw wrongArguments(NAME, 'a request of node:http', request)
      const next = (error?: unknown) =>
        error === undefined ? handler(request, response) : onError(error, request, response)
      const deny =
        denyWith && (({ event }: DeniedRequest<IncomingMessage>) => denyWith(request, response, event))
      void limitRequest(limiter, request, { response, next, deny })
    }
  }
}

const NAME = 'rateLimit() of @tidegate/http/node'

function respondWith500(error: unknown, _: IncomingMessage, response: ServerResponse): void {
  console.error(error)
  if (response.headersSent) response.destroy()
  else {
    response.statusCode = 500
    response.end()
  }
}

const ADAPTER: FrameworkAdapter<IncomingMessage> = {
  name: 'rateLimit()',
  optionNames: ['handler', 'onError'],
  reader: nodeReader({
    message: (request) => request,
    url: (request) => request.url ?? '/',
    route: () => undefined,
  }),
}
