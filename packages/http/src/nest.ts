import type { IncomingMessage, ServerResponse } from 'node:http'
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
  type Provider,
  SetMetadata,
} from '@nestjs/common'
import { APP_GUARD, Reflector } from '@nestjs/core'
import type { MaybePromise } from '@tidegate/core'
import { parseCost } from './cost.js'
import { COUNTED_BY, defineCounting } from './counting.js'
import { joinField, outdatedBy } from './headers.js'
import { nodeReader } from './node-facts.js'
import { hold, whenSent } from './node-response.js'
import { defineProxies } from './proxies.js'
import { type Addition, defineRateLimit, type Refusal, type Ruling } from './rate-limit.js'
import {
  assertFits,
  assertRateLimitOptions,
  mergeOptions,
  type RateLimitEvent,
  type RateLimitOptions,
  withStore,
} from './rate-limit-options.js'
import { resolverOf } from './resolvers.js'
import { when } from './when.js'

export type { RateLimitEvent }

/** A request of Express or Fastify, whichever Nest runs on. */
// biome-ignore lint/suspicious/noExplicitAny: Nest itself does not know which, and gives it this type
export type NestRequest = any

/** What `@RateLimit()` takes: what a class or method has of its own, before what the module has. */
export interface NestRateLimitOptions extends RateLimitOptions<NestRequest> {
  /** Answers a refusal itself: it throws, or sends. The headers are set. Default: ours. */
  handler?: (context: ExecutionContext, event: RateLimitEvent<NestRequest>) => unknown
}

export interface RateLimitModuleOptions extends NestRateLimitOptions {
  /** Whether every route is limited, or only those with `@UseGuards(RateLimitGuard)`. Default: true. */
  global?: boolean
}

export interface RateLimitModuleAsyncOptions {
  imports?: NonNullable<ModuleMetadata['imports']>
  /** What the function is given. Default: nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: tokens of any kind, as in Nest's own types
  inject?: any[]
  // biome-ignore lint/suspicious/noExplicitAny: what is injected is for the user to know
  useFactory: (...injected: any[]) => MaybePromise<NestRateLimitOptions>
  /** As in `forRoot`. Default: true. */
  global?: boolean
}

/** Options for all methods of a class, or for one method: `@RateLimit({ cost: 5 })`. */
export function RateLimit(options: NestRateLimitOptions): CustomDecorator<symbol> {
  assertRateLimitOptions('@RateLimit()', options, ['handler'])
  assertByThemselves(options)
  return SetMetadata(OPTIONS, options)
}

/** Wrong options should show now, and not when the first request comes: as far as it does not need the module's. */
function assertByThemselves(options: NestRateLimitOptions): void {
  const { key, cost, proxies } = options
  defineProxies(proxies)
  if (COUNTED_BY.some((name) => options[name] !== undefined)) {
    const { policies, refund } = defineCounting(options, () => {})
    assertFits(options, policies, refund !== undefined)
    return
  }
  if (key !== undefined) resolverOf(key)
  if (cost !== undefined) parseCost(cost, undefined)
}

/** No limit for a class or a method. Of both, the method's word counts. */
export function SkipRateLimit(): CustomDecorator<symbol> {
  return SetMetadata(OPTIONS, false)
}

/** `imports: [RateLimitModule.forRoot({ limiter })]` */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows modules by their classes
export class RateLimitModule {
  static forRoot({ global = true, ...options }: RateLimitModuleOptions): DynamicModule {
    return moduleOf(global, { provide: SHARED, useValue: shared(options, global) })
  }

  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, global = true } = options
    const useOptions = async (...injected: unknown[]) => shared(await useFactory(...injected), global)
    return { ...moduleOf(global, { provide: SHARED, useFactory: useOptions, inject }), imports }
  }
}
Module({})(RateLimitModule)

type Check = (context: ExecutionContext) => MaybePromise<boolean>

/** Counts what comes over HTTP; other kinds of message pass. Nest does not ask it about what is not found. */
export class RateLimitGuard implements CanActivate {
  readonly #shared: NestRateLimitOptions
  readonly #reflector = new Reflector()
  /** By class and method: a method can be inherited by several classes. */
  readonly #checks = new WeakMap<object, WeakMap<object, Check | undefined>>()

  constructor(shared: NestRateLimitOptions) {
    this.#shared = shared
  }

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    if (context.getType() !== 'http') return true
    const [type, method] = [context.getClass(), context.getHandler()]
    let checks = this.#checks.get(type)
    if (checks === undefined) {
      checks = new WeakMap()
      this.#checks.set(type, checks)
    }
    if (!checks.has(method)) checks.set(method, this.#checkFor(type, method))
    return checks.get(method)?.(context) ?? true
  }

  #checkFor(type: Parameters<Reflector['get']>[1], method: typeof type): Check | undefined {
    const own = (of: typeof type): NestRateLimitOptions | false | undefined =>
      this.#reflector.get(OPTIONS, of)
    const [ofClass, ofMethod] = [own(type), own(method)]
    if (ofMethod === false || (ofClass === false && ofMethod === undefined)) return undefined
    return checkOf(mergeOptions(mergeOptions(this.#shared, ofClass || {}), ofMethod ?? {}))
  }
}
Injectable()(RateLimitGuard)

const OPTIONS = Symbol.for('@tidegate/http: options')
const SHARED = Symbol.for('@tidegate/http: shared options')
Inject(SHARED)(RateLimitGuard, undefined, 0)

function moduleOf(isGlobal: boolean, options: Provider): DynamicModule {
  const guard = isGlobal ? [{ provide: APP_GUARD, useExisting: RateLimitGuard }] : []
  return {
    module: RateLimitModule,
    global: true,
    providers: [options, RateLimitGuard, ...guard],
    exports: [SHARED, RateLimitGuard],
  }
}

/** Options for all; what is wrong with them should show now, and not when the first request comes. */
function shared(options: NestRateLimitOptions, isGlobal: boolean): NestRateLimitOptions {
  assertRateLimitOptions('RateLimitModule', options, ['handler'])
  const whole = withStore(options)
  if (isGlobal) checkOf(whole)
  return whole
}

function checkOf(options: NestRateLimitOptions): Check {
  const { decide } = defineRateLimit(options, ADDITION)
  const { handler } = options

  function carryOut(
    { isGone, refusal, headers, holdMs, atEnd }: Ruling<NestRequest>,
    context: ExecutionContext,
    response: PlatformResponse,
  ): MaybePromise<boolean> {
    const raw = response.raw ?? response
    if (isGone || (raw.headersSent && refusal !== undefined)) return stop()
    if (!raw.headersSent) {
      for (const name of outdatedBy(headers)) response.removeHeader(name)
      for (const name in headers) response.header(name, joinField(response.getHeader(name), headers[name]!))
    }
    if (refusal !== undefined) {
      const refused = handler === undefined ? refuse(refusal, response) : handler(context, refusal.event)
      return when(refused, stop)
    }
    if (atEnd !== undefined) whenSent(raw, atEnd)
    if (holdMs === 0) return true
    return new Promise((resolve) => hold(holdMs, raw, () => resolve(true)))
  }

  return (context) => {
    const http = context.switchToHttp()
    return when(decide(http.getRequest()), (ruling) => carryOut(ruling, context, http.getResponse()))
  }
}

/** As Nest does it, so that its filters see it; but they would make JSON of a text. */
function refuse({ status, answer }: Refusal<NestRequest>, response: PlatformResponse): void {
  const { contentType, body } = answer()
  response.header('Content-Type', contentType)
  if (typeof body !== 'string') throw new HttpException(body, status)
  response.status(status).send(body)
}

/** The answer is sent: nothing is to come after it, neither the method nor a filter. */
function stop(): Promise<never> {
  return new Promise(() => {})
}

/** What the responses of Express and Fastify have in common. */
interface PlatformResponse extends ServerResponse {
  /** Fastify's has the one of Node inside. */
  raw?: ServerResponse
  header(name: string, value: string): unknown
  status(status: number): { send(body: string): unknown }
}

const ADDITION: Addition<NestRequest> = {
  name: 'RateLimitModule',
  options: ['handler'],
  isMadeLate: true,
  reader: nodeReader({
    message: (request): IncomingMessage => request.raw ?? request,
    url: (request) => request.originalUrl ?? request.url,
    routed: (request) => (request.path === undefined ? undefined : `${request.baseUrl}${request.path}`),
    route: (request) => request.route?.path ?? request.routeOptions?.url,
  }),
}
