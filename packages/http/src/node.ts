import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodeReader } from './node-facts.js'
import { limit } from './node-response.js'
import { type Addition, defineRateLimit, type Refusal } from './rate-limit.js'
import type { RateLimitEvent, RateLimitOptions } from './rate-limit-options.js'

export type { RateLimitEvent }

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

export interface NodeRateLimitOptions extends RateLimitOptions<IncomingMessage> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (
    request: IncomingMessage,
    response: ServerResponse,
    event: RateLimitEvent<IncomingMessage>,
  ) => unknown
  /** Responds when a function among the options throws. Default: 500, and the error on the console. */
  onError?: (error: unknown, request: IncomingMessage, response: ServerResponse) => unknown
}

/** `createServer(rateLimit({ limit: 100, window: '1m' })((request, response) => response.end('hello')))` */
export function rateLimit(options: NodeRateLimitOptions): (handler: Handler) => Handler {
  const rateLimiting = defineRateLimit(options, ADDITION)
  const { handler: refuseWith, onError = answer500 } = options

  return (handler) =>
    function rateLimit(request, response) {
      const next = (error?: unknown) =>
        error === undefined ? handler(request, response) : onError(error, request, response)
      const refuse =
        refuseWith && (({ event }: Refusal<IncomingMessage>) => refuseWith(request, response, event))
      void limit(rateLimiting, request, { response, next, refuse })
    }
}

function answer500(error: unknown, _: IncomingMessage, response: ServerResponse): void {
  console.error(error)
  if (response.headersSent) response.destroy()
  else {
    response.statusCode = 500
    response.end()
  }
}

const ADDITION: Addition<IncomingMessage> = {
  name: 'rateLimit()',
  options: ['handler', 'onError'],
  reader: nodeReader({
    message: (request) => request,
    url: (request) => request.url ?? '/',
    route: () => undefined,
  }),
}
