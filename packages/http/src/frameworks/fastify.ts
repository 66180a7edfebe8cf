import { optionInvalid, show, TidegateError } from '@tidegate/core'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { handlerMethod } from '../keys/sources.js'
import { asError } from '../middleware/as-error.js'
import { definesLimit } from '../middleware/define-checker.js'
import type { PolicyUse } from '../middleware/policy-use.js'
import { defineRateLimit } from '../middleware/rate-limit.js'
import {
  assertRateLimitOptions,
  mergeOptions,
  type RateLimitEvent,
  type RateLimitOptions,
  withStore,
} from '../middleware/rate-limit-options.js'
import { wrongArguments } from '../middleware/wrong-arguments.js'
import { joinHeader, staleHeaders } from '../response/headers.js'
import { fastifyTarget } from './fastify-target.js'
import { fastifyProxies } from './framework-proxies.js'
import { type NodeSource, nodeReader } from './node-facts.js'
import { hold, refundAfterSend, releaseAfterResponse } from './node-response.js'

export type { RateLimitEvent }

/** Options of a route, in its `config.rateLimit`. */
export interface FastifyRouteRateLimitOptions extends RateLimitOptions<FastifyRequest> {
  /** Responds to a denied request; the headers are set. Default: the default response. */
  handler?: (request: FastifyRequest, reply: FastifyReply, event: RateLimitEvent<FastifyRequest>) => unknown
}

/** Options of `rateLimit`. */
export interface FastifyRateLimitOptions extends FastifyRouteRateLimitOptions {
  /** Whether to limit routes without a `config.rateLimit`, and requests without a route. Default: true. */
  global?: boolean
  /** The hook that counts requests. Use a later hook if the key is the authenticated user. Default: `'onRequest'`. */
  hook?: 'onRequest' | 'preValidation' | 'preHandler'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of this route, which override those of the plugin; `false` disables the limit. */
    rateLimit?: FastifyRouteRateLimitOptions | false
  }
}

type Next = (error?: Error) => void
type Hook = (request: FastifyRequest, reply: FastifyReply, next: Next) => void

/**
 * Rate limiting plugin for Fastify. Also limits routes that were added earlier, and requests without a route.
 *
 * @example
 * ```ts
 * import { rateLimit } from '@tidegate/http/fastify'
 *
 * await app.register(rateLimit, { limit: 100, window: '1m' })
 * app.post('/login', { config: { rateLimit: { limit: 5, window: '15m' } } }, login)
 * ```
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = (app, options) => {
  // Not in an async function: another framework may not report a rejection.
  if (typeof app?.addHook !== 'function')
    throw wrongArguments('rateLimit of @tidegate/http/fastify', 'an instance of Fastify', app)
  return register(app, options)
}

const register: FastifyPluginAsync<FastifyRateLimitOptions> = async (app, options) => {
  assertRateLimitOptions('rateLimit', options, ['handler', 'global', 'hook'])
  const { global = true, hook = 'onRequest', ...rateLimitOptions } = options
  if (!HOOKS.includes(hook)) {
    const message = `hook must be one of ${HOOKS.join(', ')}, got ${show(hook)}. Leave it out for onRequest.`
    throw optionInvalid('hook', message)
  }
  const shared = withStore(rateLimitOptions)
  const defaultHook = global ? hookOf(shared, { user: shared }, app.prefix) : undefined
  /** By the `config` of a route, which is one object for all its requests. */
  const hooks = new WeakMap<object, Hook | undefined>()
  const earlierRoutes = new Map<string, object>()

  function hookFor(route: Route): Hook | undefined {
    const { config } = route
    if (config?.rateLimit === undefined) return defaultHook
    if (hooks.has(config)) return hooks.get(config)
    const routeOptions = config.rateLimit
    const routeHook =
      routeOptions === false
        ? undefined
        : inRoute(route, routeOptions, () =>
            hookOf(mergeOptions(shared, routeOptions), useOf(route, config, routeOptions), app.prefix),
          )
    hooks.set(config, routeHook)
    return routeHook
  }

  /** An unnamed policy of a route is named after the route, so that the same route shares its count across processes. */
  function useOf(route: Route, config: RouteConfig, routeOptions: object): PolicyUse {
    if (!definesLimit(routeOptions)) return { user: shared }
    const place = config[PLACE]
    if (place !== undefined) return { place }
    // The constraints of routes added before the plugin are unknown, so two versions of a route look the same.
    const earlier = `${route.method} ${route.url}`
    const isOther = (earlierRoutes.get(earlier) ?? config) !== config
    earlierRoutes.set(earlier, config)
    return isOther ? { user: config } : { place: placeOf(route) }
  }

  /** Looking up the route of each request costs time, and most applications have no routes with their own options. */
  let mayHaveRouteOptions = app.printRoutes() !== '(empty tree)'
  app.addHook('onRoute', (route) => {
    if (route.config?.rateLimit === undefined) return
    mayHaveRouteOptions = true
    route.config = Object.assign({}, route.config, { [PLACE]: placeOf(route) })
    // Report invalid options when the route is added. Those of earlier routes are reported at the first request.
    hookFor(route)
  })
  const run: Hook = (request, reply, next) => {
    const limit = mayHaveRouteOptions ? hookFor(request.routeOptions as Route) : defaultHook
    if (limit === undefined) next()
    else limit(request, reply, next)
  }
  // Fastify's types accept only a literal name.
  app.addHook(hook as 'onRequest', run)
}

/** The part of a route's options that both `onRoute` and a request have. */
interface Route {
  readonly method?: string | string[]
  readonly url?: string
  readonly constraints?: object | undefined
  readonly config?: RouteConfig | undefined
}

interface RouteConfig {
  rateLimit?: FastifyRouteRateLimitOptions | false
  [PLACE]?: string
}

/** Adds the route to the errors of its options. */
function inRoute<T>(route: Route, own: FastifyRouteRateLimitOptions, make: () => T): T {
  try {
    return make()
  } catch (cause) {
    if (!(cause instanceof TidegateError)) throw cause
    const { code, field, message } = cause
    const replaced =
      definesLimit(own) && NUMBERS.includes(field) ? " Options of a route replace the plugin's limit." : ''
    throw new TidegateError(code, `config.rateLimit of ${placeOf(route)}: ${message}${replaced}`, {
      ...(field !== undefined && { field }),
      cause,
    })
  }
}

/** The fields of a limit that a route could be thought to inherit. */
const NUMBERS: readonly unknown[] = ['limit', 'window', 'capacity', 'refillRate', 'leakRate']

/** Requests do not expose the constraints of their route, so `onRoute` stores the place in the route's `config`. */
const PLACE = Symbol.for('@tidegate/http: place')

function placeOf({ method = '', url = '', constraints = {} }: Route): string {
  const methods = new Set([method].flat().map(handlerMethod))
  const conditions =
    Object.keys(constraints).length === 0
      ? ''
      : ` ${JSON.stringify(constraints, (_, value) => (value instanceof RegExp ? String(value) : value))}`
  return `${[...methods].sort().join(',')} ${url}${conditions}`
}

const HOOKS: readonly unknown[] = ['onRequest', 'preValidation', 'preHandler']

// Fastify then applies the plugin to the whole instance, and not only inside of the plugin.
Object.assign(rateLimit, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@tidegate/http',
})

function hookOf(options: FastifyRouteRateLimitOptions, use: PolicyUse, mount: string): Hook {
  const reader = nodeReader({ ...SOURCE, mount: () => mount })
  const { check } = defineRateLimit(options, { ...ADAPTER, reader, use })
  const { handler } = options

  /** Calls `next` if the request passes. If not, the response is sent, or the client is gone. */
  async function limit(request: FastifyRequest, reply: FastifyReply, next: Next): Promise<void> {
    try {
      const { isGone, denial, headers, holdMs, refundFor, release } = await check(request)
      if (release !== undefined) releaseAfterResponse(reply.raw, release)
      if (isGone || (reply.sent && denial !== undefined)) return
      if (!reply.sent) {
        for (const name of staleHeaders(headers)) reply.removeHeader(name)
        for (const name in headers) reply.header(name, joinHeader(reply.getHeader(name), headers[name]!))
      }
      if (denial !== undefined) {
        if (handler !== undefined) await respondWith(handler(request, reply, denial.event), reply)
        else {
          const { contentType, body } = denial.defaultResponse()
          const text = typeof body === 'string' ? body : JSON.stringify(body)
          reply.code(denial.status).header('content-type', contentType).send(text)
        }
        return
      }
      if (refundFor !== undefined) refundAfterSend(reply.raw, refundFor)
      if (holdMs > 0) await new Promise<void>((resolve) => hold(holdMs, reply.raw, resolve))
    } catch (error) {
      next(asError(error) as Error)
      return
    }
    next()
  }

  return function rateLimit(request, reply, next) {
    // Fastify would also call `next` for a promise.
    void limit(request, reply, next)
  }
}

/** The returned value is the response if the handler has not sent one, as for Fastify's own handlers. */
async function respondWith(returned: unknown, reply: FastifyReply): Promise<void> {
  // A reply is a thenable, which resolves only when the response is sent.
  const payload = returned === reply ? undefined : await returned
  if (payload !== undefined && payload !== reply && !reply.sent) reply.send(payload)
}

const ADAPTER = { name: 'rateLimit', optionNames: ['handler'], isLazy: true }

const SOURCE: NodeSource<FastifyRequest> = {
  message: (request) => request.raw,
  url: fastifyTarget,
  route: (request) => request.routeOptions.url,
  proxies: fastifyProxies,
}
