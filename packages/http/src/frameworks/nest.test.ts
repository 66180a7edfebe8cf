import 'reflect-metadata'
import { Readable } from 'node:stream'
import { All, Controller, type ExecutionContext, Get, Module, Req, Res, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { fixedWindow } from '@tidegate/core'
import { afterEach, describe, expect, it } from 'vitest'
import { describeCases } from '../../test/cases.js'
import type { Application } from '../../test/framework.js'
import { rawStatus } from '../../test/raw-status.js'
import { statusesOf } from '../../test/statuses.js'
import { RateLimit as LimitMethod } from '../decorator/decorator.js'
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from './nest.js'

/** Applies decorators as functions, because vitest does not compile them. */
function controllerOf(application: Application, everything: string) {
  class Pages {
    // biome-ignore lint/suspicious/noExplicitAny: of Express or of Fastify
    answer(request: any, response: any) {
      const { status, body } = application.answer(request.url.split('?')[0])
      response.status(status)
      if (typeof body === 'string') response.send(body)
      else if (response.raw) response.send(Readable.from(body))
      else Readable.from(body).pipe(response)
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, 'answer')!
  All(['/status/:code', everything, '/'])(Pages.prototype, 'answer', descriptor)
  Req()(Pages.prototype, 'answer', 0)
  Res()(Pages.prototype, 'answer', 1)
  Controller()(Pages)
  return Pages
}

for (const [platform, adapter, everything] of [
  ['Express', () => new ExpressAdapter(), '*path'],
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true }), '*'],
] as const) {
  describeCases({
    name: `NestJS on ${platform}`,
    route: '/status/:code',
    routesTargets: true,
    tools: {
      header: (request, name) => request.headers[name],
      handler: (answer) => (context: ExecutionContext, event: never) => {
        const { status, text } = answer(event)
        context.switchToHttp().getResponse().status(status).send(text)
      },
    },
    async serve(options, application) {
      class App {}
      Module({
        imports: [RateLimitModule.forRoot(options as never)],
        controllers: [controllerOf(application, everything)],
      })(App)
      const app = await NestFactory.create(App, adapter() as never, { logger: false })
      await app.listen(0, '127.0.0.1')
      const server = app.getHttpServer()
      return {
        port: server.address().port,
        async close() {
          server.closeAllConnections()
          await app.close()
        },
      }
    },
  })
}

describe('the guard of NestJS', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

  const one = fixedWindow({ limit: 1, window: '365d', name: 'one' })
  const many = fixedWindow({ limit: 100, window: '365d', name: 'many' })

  type Decorator = (target: object, property: string, descriptor: PropertyDescriptor) => unknown
  /** A controller with one method for each path, and its decorators. */
  function controller(path: string, methods: Record<string, Decorator[]>, ...above: ClassDecorator[]) {
    class Pages {}
    for (const [name, decorators] of Object.entries(methods)) {
      const descriptor = { value: () => name, configurable: true, writable: true }
      for (const decorate of [Get(name) as Decorator, ...decorators])
        decorate(Pages.prototype, name, descriptor)
      Object.defineProperty(Pages.prototype, name, descriptor)
    }
    for (const decorate of [Controller(path), ...above]) decorate(Pages)
    return Pages
  }

  async function start(imports: unknown[], controllers: (new () => object)[]) {
    class App {}
    Module({ imports: imports as [], controllers })(App)
    const app = await NestFactory.create(App, { logger: false, abortOnError: false })
    closing.push(() => app.close())
    await app.listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${app.getHttpServer().address().port}`
    return (...paths: string[]) => statusesOf(url, paths)
  }

  it('uses the options of classes and methods', async () => {
    const ask = await start(
      [RateLimitModule.forRoot({ policy: many })],
      [
        controller('usual', {
          plain: [],
          own: [RateLimit({ policy: one, key: 'own' })],
          free: [SkipRateLimit()],
        }),
        controller(
          'strict',
          { plain: [], again: [RateLimit({ cost: 1 })] },
          RateLimit({ policy: one, key: 'strict' }),
        ),
        controller(
          'free',
          { plain: [], limited: [RateLimit({ policy: one, key: 'limited' })] },
          SkipRateLimit(),
        ),
        controller('dear', { plain: [], half: [RateLimit({ cost: 50 })] }, RateLimit({ cost: 90 })),
      ],
    )
    expect(await ask('/usual/plain', '/usual/plain')).toStrictEqual([200, 200])
    expect(await ask('/usual/own', '/usual/own')).toStrictEqual([200, 429])
    expect(await ask('/usual/free', '/usual/free')).toStrictEqual([200, 200])
    expect(await ask('/strict/plain', '/strict/again')).toStrictEqual([200, 429])
    expect(await ask('/free/plain', '/free/plain')).toStrictEqual([200, 200])
    expect(await ask('/free/limited', '/free/limited')).toStrictEqual([200, 429])
    // Both take from the same 100, and two are used.
    expect(await ask('/dear/plain', '/dear/half')).toStrictEqual([200, 429])
  })

  it('takes options from a factory with injected providers', async () => {
    const POLICY = Symbol('policy')
    class Policies {}
    Module({ providers: [{ provide: POLICY, useValue: one }], exports: [POLICY] })(Policies)
    const useFactory = async (policy: typeof one) => ({ policy })
    const ask = await start(
      [RateLimitModule.forRootAsync({ imports: [Policies], inject: [POLICY], useFactory })],
      [controller('pages', { plain: [] })],
    )
    expect(await ask('/pages/plain', '/pages/plain')).toStrictEqual([200, 429])
  })

  it('can be used on single controllers, which share one store', async () => {
    const ask = await start(
      [RateLimitModule.forRoot({ global: false, policy: one })],
      [controller('free', { plain: [] }), controller('limited', { a: [], b: [] }, UseGuards(RateLimitGuard))],
    )
    expect(await ask('/free/plain', '/free/plain')).toStrictEqual([200, 200])
    expect(await ask('/limited/a', '/limited/b')).toStrictEqual([200, 429])
  })

  it('rejects messages of other transports, unless they are skipped', async () => {
    const guard = new RateLimitGuard({ policy: one })
    const contextOf = (type: object) =>
      ({ getType: () => 'rpc', getClass: () => type, getHandler: () => type }) as never
    class Jobs {}
    class Skipped {}
    SkipRateLimit()(Skipped)
    await expect(guard.canActivate(contextOf(Jobs))).rejects.toThrow(/"rpc".*@SkipRateLimit\(\) above .*Jobs/)
    expect(await guard.canActivate(contextOf(Skipped))).toBe(true)
  })

  it('matches the path that the router of Fastify runs, with useSemicolonDelimiter', async () => {
    const pages = controller('', { login: [] })
    class App {}
    const rules = [{ match: { path: '/login' }, policy: one, key: '{path}' }]
    Module({ imports: [RateLimitModule.forRoot({ rules })], controllers: [pages] })(App)
    const adapter = new FastifyAdapter({ routerOptions: { useSemicolonDelimiter: true } as object })
    const app = await NestFactory.create(App, adapter as never, { logger: false })
    closing.push(() => app.close())
    await app.listen(0, '127.0.0.1')
    const { port } = app.getHttpServer().address()
    const statuses = []
    for (const path of ['/login', '/login;x/../y', '/login;x']) statuses.push(await rawStatus(port, path))
    expect(statuses).toStrictEqual([200, 429, 429])
  })

  it('rejects invalid options when the module is created', async () => {
    expect(() => RateLimitModule.forRoot({})).toThrow(/Exactly one limit is required/)
    expect(() => RateLimitModule.forRoot({ policy: one, cost: 2 })).toThrow(/can never be allowed/)
    expect(() => RateLimitModule.forRoot({ global: false, windowMs: 5000 } as never)).toThrow(
      /Replace windowMs: 5000 with window: '5s', start: 'first-request'\./,
    )
    const late = RateLimitModule.forRootAsync({ useFactory: () => ({ policy: one, cost: 2 }) })
    await expect(start([late], [])).rejects.toThrow(/can never be allowed/)
  })

  it.each([
    [{ limit: 5 }, /window is missing/],
    [{ ttl: 5 } as never, /@RateLimit\(\) has no option "ttl"/],
    [{ key: '{user}' }, /"user" is not a source/],
    [{ cost: 0 }, /whole number of at least 1/],
    [{ proxies: { trusted: ['loopback'] } }, /only addresses and ranges/],
    [{ policy: one, cost: 2 }, /can never be allowed/],
    [{ policy: one, queue: true }, /leakyBucket\(\{ capacity: 20/],
    [{ policy: one, rules: [{ policy: one }] }, /got policy and rules/],
    [{ rules: [] }, /rules must be a list/],
  ])('rejects invalid options when the decorator is applied: %j', (options, problem) => {
    expect(() => RateLimit(options)).toThrow(problem)
  })

  it('responds with the status of the error of a limited method', async () => {
    const limited = controller('pages', { plain: [LimitMethod({ limit: 1, window: '365d' }) as Decorator] })
    const ask = await start([], [limited])
    expect(await ask('/pages/plain', '/pages/plain')).toStrictEqual([200, 429])
  })
})
