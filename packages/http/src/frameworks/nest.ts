import {
  type CanActivate,
  type CustomDecorator,
  type DynamicModule,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  Optional,
  type Provider,
  SetMetadata,
} from '@nestjs/common'
import { APP_GUARD, Reflector } from '@nestjs/core'
import { type MaybePromise, optionInvalid, TidegateError } from '@tidegate/core'
import { defineProxies } from '../address/proxies.js'
import { resolverOf } from '../keys/resolvers.js'
import { parseCost } from '../middleware/cost.js'
import { defineChecker, definesLimit } from '../middleware/define-checker.js'
import type { PolicyUse } from '../middleware/policy-use.js'
import { type DeniedRequest, defineRateLimit, type RequestReader } from '../middleware/rate-limit.js'
import {
  assertFits,
  assertRateLimitOptions,
  mergeOptions,
  type RateLimitEvent,
  type RateLimitOptions,
  withStore,
} from '../middleware/rate-limit-options.js'
import { joinHeader, longestWait, staleHeaders } from '../response/headers.js'
import {
  callOf,
  graphqlReader,
  httpReader,
  type NestCall,
  type PlatformResponse,
  wsReader,
} from './nest-context.js'
import { hold, refundAfterSend, releaseAfterResponse } from './node-response.js'

export type { RateLimitEvent }

/** A request of Express or Fastify, or the client of a WebSocket. */
// biome-ignore lint/suspicious/noExplicitAny: the type depends on the platform, and Nest uses this type too
export type NestRequest = any

/** Options of `@RateLimit()`, which override those of the module. */
export interface NestRateLimitOptions extends RateLimitOptions<NestRequest> {
  /** Responds to a denied request, or throws; the headers are set. Default: the default response. */
  handler?: (context: ExecutionContext, event: RateLimitEvent<NestRequest>) => unknown
}

/** Options of `RateLimitModule.forRoot`. */
export interface RateLimitModuleOptions extends NestRateLimitOptions {
  /** Whether to limit every route. If false, only routes with `@UseGuards(RateLimitGuard)`. Default: true. */
  global?: boolean
}

/** Options of `RateLimitModule.forRootAsync`. */
export interface RateLimitModuleAsyncOptions {
  imports?: NonNullable<ModuleMetadata['imports']>
  /** The providers to pass to `useFactory`. Default: none. */
  // biome-ignore lint/suspicious/noExplicitAny: tokens of any kind, as in Nest's own types
  inject?: any[]
  /** Returns the options of the module. */
  // biome-ignore lint/suspicious/noExplicitAny: the types of the providers are up to the user
  useFactory: (...injected: any[]) => MaybePromise<NestRateLimitOptions>
  /** Whether to limit every route. If false, only routes with `@UseGuards(RateLimitGuard)`. Default: true. */
  global?: boolean
}

/**
 * Sets the options of a method, or of all methods of a class.
 *
 * @example
 * ```ts
 * @Controller('login')
 * class LoginController {
 *   @Post()
 *   @RateLimit({ limit: 5, window: '15m' })
 *   login() {}
 * }
 * ```
 */
export function RateLimit(options: NestRateLimitOptions): CustomDecorator<symbol> {
  assertRateLimitOptions('@RateLimit()', options, ['handler'])
  assertStandalone(options)
  return SetMetadata(OPTIONS, options)
}

/** Rejects invalid options when the decorator is applied, unless they depend on the module's options. */
function assertStandalone(options: NestRateLimitOptions): void {
  const { key, cost, proxies } = options
  defineProxies(proxies)
  if (definesLimit(options)) {
    const { policies, refund } = defineChecker(options, { place: 'decorator' }, () => {})
    assertFits(options, policies, refund !== undefined)
    return
  }
  if (key !== undefined) resolverOf(key)
  if (cost !== undefined) parseCost(cost, undefined)
}

/** Disables the limit for a class or a method. The decorator of a method overrides that of its class. */
export function SkipRateLimit(): CustomDecorator<symbol> {
  return SetMetadata(OPTIONS, false)
}

/**
 * The NestJS module. It limits every route, unless `global` is false.
 *
 * @example
 * ```ts
 * @Module({ imports: [RateLimitModule.forRoot({ limit: 100, window: '1m' })] })
 * export class AppModule {}
 * ```
 */
export class RateLimitModule {
  /** Nest passes undefined if the class itself is imported, which would limit nothing. */
  constructor(shared?: NestRateLimitOptions) {
    if (shared !== undefined) return
    throw optionInvalid(
      undefined,
      "RateLimitModule has no options. Write imports: [RateLimitModule.forRoot({ limit: 100, window: '1m' })].",
    )
  }

  /** Creates the module from its options. */
  static forRoot({ global = true, ...options }: RateLimitModuleOptions): DynamicModule {
    return moduleOf(global, { provide: SHARED, useValue: shared(options, global) })
  }

  /** Creates the module from a factory with injected providers. */
  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, global = true } = options
    const useOptions = async (...injected: unknown[]) => shared(await useFactory(...injected), global)
    return { ...moduleOf(global, { provide: SHARED, useFactory: useOptions, inject }), imports }
  }
}
Module({})(RateLimitModule)

type Check = (context: ExecutionContext) => Promise<boolean>
type Target = Parameters<Reflector['get']>[1]

/** Counts HTTP requests, GraphQL operations and WebSocket messages. Nest calls no guard for unknown routes. */
export class RateLimitGuard implements CanActivate {
  readonly #shared: NestRateLimitOptions
  readonly #reflector = new Reflector()
  /** By class and method, because several classes can inherit one method. */
  readonly #checks = new WeakMap<object, WeakMap<object, Check | undefined>>()

  constructor(shared: NestRateLimitOptions) {
    this.#shared = shared
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const [type, method] = [context.getClass(), context.getHandler()]
    let checks = this.#checks.get(type)
    if (checks === undefined) {
      checks = new WeakMap()
      this.#checks.set(type, checks)
    }
    if (!checks.has(method)) checks.set(method, this.#checkFor(type, method))
    return checks.get(method)?.(context) ?? true
  }

  #checkFor(type: Target, method: Target): Check | undefined {
    const optionsOfTarget = (target: Target): NestRateLimitOptions | false | undefined =>
      this.#reflector.get(OPTIONS, target)
    const [ofClass, ofMethod] = [optionsOfTarget(type), optionsOfTarget(method)]
    if (ofMethod === false || (ofClass === false && ofMethod === undefined)) return undefined
    const options = mergeOptions(mergeOptions(this.#shared, ofClass || {}), ofMethod ?? {})
    return checkOf(options, this.#useOf(type, method, ofClass || {}, ofMethod ?? {}))
  }

  /** An unnamed policy is named after the class or the method with the decorator. */
  #useOf(type: Target, method: Target, ofClass: object, ofMethod: object): PolicyUse {
    const placeOf = (target: Target) => {
      const [path, version] = ['path', '__version__'].map((key) => this.#reflector.get(key, target) ?? '')
      return `${target.name} ${path} ${version}`
    }
    if (definesLimit(ofMethod)) return { place: `${placeOf(type)} ${placeOf(method)}` }
    return definesLimit(ofClass) ? { place: placeOf(type) } : { user: this.#shared }
  }
}
Injectable()(RateLimitGuard)

const OPTIONS = Symbol.for('@tidegate/http: options')
const SHARED = Symbol.for('@tidegate/http: shared options')
Inject(SHARED)(RateLimitGuard, undefined, 0)
Inject(SHARED)(RateLimitModule, undefined, 0)
Optional()(RateLimitModule, undefined, 0)

function moduleOf(isGlobal: boolean, options: Provider): DynamicModule {
  const guard = isGlobal ? [{ provide: APP_GUARD, useExisting: RateLimitGuard }] : []
  return {
    module: RateLimitModule,
    global: true,
    providers: [options, RateLimitGuard, ...guard],
    exports: [SHARED, RateLimitGuard],
  }
}

/** The options of the module. Rejects invalid options immediately, not at the first request. */
function shared(options: NestRateLimitOptions, isGlobal: boolean): NestRateLimitOptions {
  assertRateLimitOptions('RateLimitModule', options, ['handler'])
  const moduleOptions = withStore(options)
  if (isGlobal) checkOf(moduleOptions, { user: moduleOptions })
  return moduleOptions
}

function checkOf(options: NestRateLimitOptions, use: PolicyUse): Check {
  const { check } = defineRateLimit(options, {
    name: 'RateLimitModule',
    optionNames: ['handler'],
    isLazy: true,
    reader: readerFor(options),
    use,
  })
  const { handler } = options

  return async (context) => {
    const call = callOf(context)
    const { isGone, denial, headers, holdMs, refundFor, release } = await check(call.request, [call])
    const { response } = call
    const raw = response?.raw ?? response
    if (release !== undefined) {
      if (raw === undefined) {
        release()
        throw noResponse(call)
      }
      releaseAfterResponse(raw, release)
    }
    if (isGone || (call.kind === 'http' && raw?.headersSent && denial !== undefined)) return stop()
    if (response !== undefined && !raw?.headersSent) setHeaders(call, response, headers)
    if (denial !== undefined) {
      if (handler !== undefined) await handler(context, denial.event)
      // A handler of HTTP has sent the response. Elsewhere only an exception stops the call.
      if (call.kind === 'http' && handler !== undefined) return stop()
      return call.kind === 'http' ? deny(denial, response!) : throwDenial(denial, call)
    }
    if (refundFor !== undefined && call.kind === 'http') refundAfterSend(raw!, refundFor)
    if (holdMs > 0 && raw !== undefined) await new Promise<void>((resolve) => hold(holdMs, raw, resolve))
    else if (holdMs > 0) await new Promise((resolve) => setTimeout(resolve, holdMs))
    return true
  }
}

function readerFor({ proxies }: NestRateLimitOptions): RequestReader<NestRequest> {
  const hasProxies = (proxies?.hops ?? 0) > 0 || (proxies?.trusted?.length ?? 0) > 0
  const readerOf = ([call]: readonly unknown[]): RequestReader<NestRequest> => {
    const { kind, route } = call as NestCall
    if (kind === 'http') return httpReader
    return kind === 'graphql' ? graphqlReader(route) : wsReader(route, hasProxies)
  }
  return {
    facts: (request, findIp, rest) => readerOf(rest).facts(request, findIp, rest),
    identity: (request, rest) => readerOf(rest).identity(request, rest),
  }
}

/** Sets the headers. For GraphQL they replace earlier ones, because one request can have many operations. */
function setHeaders(
  { kind }: NestCall,
  response: PlatformResponse,
  headers: Readonly<Record<string, string>>,
): void {
  for (const name of staleHeaders(headers)) response.removeHeader(name)
  for (const name in headers) {
    const before = kind === 'http' ? response.getHeader(name) : undefined
    response.header(name, joinHeader(before, headers[name]!))
  }
}

/** Throws, so that exception filters receive the denial. Text is sent directly, because filters would convert it to JSON. */
function deny(
  { status, defaultResponse }: DeniedRequest<NestRequest>,
  response: PlatformResponse,
): Promise<never> {
  const { contentType, body } = defaultResponse()
  response.header('Content-Type', contentType)
  if (typeof body !== 'string') throw new HttpException(body, status)
  response.status(status).send(body)
  return stop()
}

/** Throws the denial of a GraphQL operation, or of a message to a WebSocket gateway. */
async function throwDenial(
  { event, status, defaultResponse }: DeniedRequest<NestRequest>,
  { kind }: NestCall,
): Promise<never> {
  const { body } = defaultResponse()
  if (kind === 'graphql') {
    // Servers copy `extensions` into the error of the response.
    const extensions = { code: 'RATE_LIMIT_EXCEEDED', retryAfter: longestWait(event.limits) }
    throw Object.assign(new HttpException(body, status), { extensions })
  }
  // Loaded only where a gateway is used, because the package is an optional peer.
  const name = '@nestjs/websockets'
  const { WsException } = (await import(name)) as { WsException: new (error: string | object) => Error }
  throw new WsException(typeof body === 'string' ? body : { status: 'error', ...body })
}

/** Without a response, the end of the call is unknown, so its slot cannot be released. */
function noResponse({ kind }: NestCall): TidegateError {
  const message = `RateLimitModule: a concurrency policy needs the response of an HTTP request, which a ${kind} call does not have. Use a rate policy such as fixedWindow({ limit: 100, window: '1m' }).`
  return new TidegateError('OPTION_INVALID', message, { field: 'policy' })
}

/** Never resolves, because the response is sent, so neither the method nor a filter must run. */
function stop(): Promise<never> {
  return new Promise(() => {})
}
