import { show, TidegateError } from '@tidegate/core'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { joinField, outdatedBy } from './headers.js'
import { nodeReader } from './node-facts.js'
import { hold, whenSent } from './node-response.js'
import { type Addition, defineRateLimit, type Ruling } from './rate-limit.js'
import {
  assertRateLimitOptions,
  mergeOptions,
  type RateLimitEvent,
  type RateLimitOptions,
  withStore,
} from './rate-limit-options.js'
import { asError } from './thrown.js'
import { isPromise, when } from './when.js'

export type { RateLimitEvent }

/** What a route may have in its `config.rateLimit`. */
export interface FastifyRouteRateLimitOptions extends RateLimitOptions<FastifyRequest> {
  /** Answers a refusal itself; the headers are set. Default: ours. */
  handler?: (request: FastifyRequest, reply: FastifyReply, event: RateLimitEvent<FastifyRequest>) => unknown
}

export interface FastifyRateLimitOptions extends FastifyRouteRateLimitOptions {
  /** Whether routes without a `config.rateLimit` are limited too, and what is not found. Default: true. */
  global?: boolean
  /** When in the life of a request: later ones know who has logged in. Default: `'onRequest'`. */
  hook?: 'onRequest' | 'preValidation' | 'preHandler'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What this route has of its own, before what the plugin has; `false` for no limit. */
    rateLimit?: FastifyRouteRateLimitOptions | false
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

/**
 * `app.register(rateLimit, { limiter })`. Routes that were there before, and what is not found, are limited too.
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = async (app, options) => {
  assertRateLimitOptions('rateLimit', options, ['handler', 'global', 'hook'])
  const { global = true, hook = 'onRequest', ...own } = options
  if (!HOOKS.includes(hook)) {
    const message = `hook must be one of ${HOOKS.join(', ')}, got ${show(hook)}.`
    throw new TidegateError('OPTION_INVALID', message, { field: 'hook' })
  }
  const shared = withStore(own)
  const usual = global ? hookOf(shared) : undefined
  /** By the configuration of a route, which is one object for all its requests. */
  const hooks = new WeakMap<object, Hook | undefined>()

  function hookFor(
    config: { rateLimit?: FastifyRouteRateLimitOptions | false } | undefined,
  ): Hook | undefined {
    if (config?.rateLimit === undefined) return usual
    if (hooks.has(config)) return hooks.get(config)
    const own = config.rateLimit
    const made = own === false ? undefined : hookOf(mergeOptions(shared, own))
    hooks.set(config, made)
    return made
  }

  /**
   * To find the configuration of a request's route costs a fifth of all that happens here. Most applications have
   * none of their own; but of the routes that were there before nobody tells us.
   */
  let mayHaveOwn = app.printRoutes() !== '(empty tree)'
  app.addHook('onRoute', ({ config }) => {
    if (config?.rateLimit !== undefined) mayHaveOwn = true
    // Options that are wrong should show when the route is made; those of earlier routes do when they are used.
    hookFor(config)
  })
  const run: Hook = (request, reply, next) => {
    const limit = mayHaveOwn ? hookFor(request.routeOptions.config) : usual
    if (limit === undefined) next()
    else limit(request, reply, next)
  }
  // Its types know one name at a time.
  app.addHook(hook as 'onRequest', run)
}

const HOOKS: readonly unknown[] = ['onRequest', 'preValidation', 'preHandler']

// For everything that is registered beside it, and not only for what is in it.
Object.assign(rateLimit, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@tidegate/http',
})

function hookOf(options: FastifyRouteRateLimitOptions): Hook {
  const { decide } = defineRateLimit(options, ADDITION)
  const { handler } = options

  function carryOut(
    ruling: Ruling<FastifyRequest>,
    request: FastifyRequest,
    reply: FastifyReply,
    next: () => void,
  ): unknown {
    const { isGone, refusal, headers, holdMs, atEnd } = ruling
    if (isGone || (reply.sent && refusal !== undefined)) return undefined
    if (!reply.sent) {
      for (const name of outdatedBy(headers)) reply.removeHeader(name)
      for (const name in headers) reply.header(name, joinField(reply.getHeader(name), headers[name]!))
    }
    if (refusal !== undefined) {
      if (handler !== undefined) return answerWith(handler(request, reply, refusal.event), reply)
      const { contentType, body } = refusal.answer()
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return void reply.code(refusal.status).header('content-type', contentType).send(text)
    }
    if (atEnd !== undefined) whenSent(reply.raw, atEnd)
    return holdMs === 0 ? next() : hold(holdMs, reply.raw, next)
  }

  return function rateLimit(request, reply, next) {
    let carriedOut: unknown
    try {
      const ruling = decide(request)
      carriedOut = isPromise(ruling)
        ? ruling.then((ruling) => carryOut(ruling, request, reply, next))
        : carryOut(ruling, request, reply, next)
    } catch (error) {
      return next(asError(error) as Error)
    }
    if (isPromise(carriedOut)) carriedOut.catch((error) => next(asError(error) as Error))
  }
}

/** What a handler returns is the answer, if it has not sent one: as with handlers of Fastify's own. */
function answerWith(returned: unknown, reply: FastifyReply): unknown {
  if (returned === reply) return undefined
  return when(returned, (payload) => {
    if (payload !== undefined && payload !== reply && !reply.sent) reply.send(payload)
  })
}

const ADDITION: Addition<FastifyRequest> = {
  name: 'rateLimit',
  options: ['handler'],
  isMadeLate: true,
  reader: nodeReader({
    message: (request) => request.raw,
    url: (request) => request.raw.url ?? '/',
    route: (request) => request.routeOptions.url,
  }),
}
