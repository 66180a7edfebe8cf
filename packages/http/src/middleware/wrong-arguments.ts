import { optionInvalid, show, type TidegateError } from '@tidegate/core'

/*
 * Middleware that was used without being called, and middleware of one framework in another. Both are recognized by the
 * arguments that the framework passes.
 */

interface Framework {
  readonly name: string
  /** How middleware is used there. */
  readonly use: string
  readonly module: string
}

const OPTIONS = "{ limit: 100, window: '1m' }"
const APP_USE = `app.use(rateLimit(${OPTIONS}))`
const WRAPPED = `rateLimit(${OPTIONS})(handler)`
const HONO: Framework = { name: 'Hono', use: APP_USE, module: 'hono' }
const KOA: Framework = { name: 'Koa', use: APP_USE, module: 'koa' }
const EXPRESS: Framework = { name: 'Express', use: APP_USE, module: 'express' }
const FASTIFY: Framework = { name: 'Fastify', use: `app.register(rateLimit, ${OPTIONS})`, module: 'fastify' }
const NODE: Framework = { name: 'node:http', use: `createServer(${WRAPPED})`, module: 'node' }
const FETCH: Framework = { name: 'the Fetch API', use: WRAPPED, module: 'fetch' }

/** Rejects options that are an argument of a framework. */
export function assertNotArgument(name: string, options: unknown): void {
  if (frameworkOf(options) !== undefined) throw wrongArguments(name, 'options', options)
  const type = typeof options === 'object' && options !== null ? prototypeOwner(options) : options
  if (typeof type !== 'function') return
  throw optionInvalid(
    undefined,
    `${name} needs options, got ${show(type)}. Call it with options first: ${name.replace('()', '')}(${OPTIONS}).`,
  )
}

/**
 * The error for arguments that do not come from the framework that the middleware is for. `expected` is what the middleware
 * needs instead of `value`.
 */
export function wrongArguments(name: string, expected: string, value: unknown): TidegateError {
  const framework = frameworkOf(value)
  if (framework === undefined) {
    return optionInvalid(
      undefined,
      `${name} needs ${expected}, got ${typeof value === 'object' ? 'an object of an unknown framework' : show(value)}. Import rateLimit for your framework, for example from '@tidegate/http/express', and call it: ${APP_USE}.`,
    )
  }
  const { name: of, use, module } = framework
  return optionInvalid(
    undefined,
    `${name} needs ${expected}, got an object of ${of}. For ${of}, call it: ${use}, with import { rateLimit } from '@tidegate/http/${module}'.`,
  )
}

/** The framework that passes such an argument to middleware or plugins. */
function frameworkOf(value: unknown): Framework | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { req, res, raw, headers } = value as Record<string, Fields | undefined>
  const { addHook, register, server, log, baseUrl, socket } = value as Record<string, unknown>
  if (typeof addHook === 'function' && typeof register === 'function') return FASTIFY
  if (raw !== undefined && server !== undefined && log !== undefined) return FASTIFY
  if (typeof req?.header === 'function' && typeof req.raw === 'object') return HONO
  if (req?.socket !== undefined && typeof res?.setHeader === 'function') return KOA
  if (typeof headers?.get === 'function') return FETCH
  if (headers === undefined || socket === undefined) return undefined
  return baseUrl === undefined ? NODE : EXPRESS
}

/** A decorator that is not called gets the prototype of the class. */
function prototypeOwner(value: object): unknown {
  const owner = Object.hasOwn(value, 'constructor') ? value.constructor : undefined
  return typeof owner === 'function' && owner.prototype === value ? owner : undefined
}

type Fields = Readonly<Record<string, unknown>>
