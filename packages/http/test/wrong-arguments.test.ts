import 'reflect-metadata'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express from 'express'
// @ts-expect-error: the same types, which it does not have under this name
import express4 from 'express-4'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rateLimit as forExpress } from '../src/frameworks/express.js'
import { rateLimit as forFastify } from '../src/frameworks/fastify.js'
import { rateLimit as forFetch } from '../src/frameworks/fetch.js'
import { rateLimit as forHono } from '../src/frameworks/hono.js'
import { rateLimit as forKoa } from '../src/frameworks/koa.js'
import { RateLimit, RateLimitModule } from '../src/frameworks/nest.js'
import { rateLimit as forNode } from '../src/frameworks/node.js'
import { listen } from './listen.js'

const closing: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

const OPTIONS = { limit: 100, window: '1m' }
const create = (rateLimit: unknown) => (rateLimit as (options: object) => unknown)(OPTIONS)

async function fetchFrom(listener: Parameters<typeof listen>[0]): Promise<void> {
  const { port, close } = await listen(listener)
  closing.push(close)
  await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(5000) })
}

/** Each uses a value as middleware, sends a request, and returns the error that the framework reports. */
const FRAMEWORKS: Record<string, (middleware: unknown) => Promise<unknown>> = {
  'Express 5': (middleware) => inExpress(express, middleware),
  'Express 4': (middleware) => inExpress(express4 as typeof express, middleware),
  async Koa(middleware) {
    let reported: unknown
    const app = new Koa().use(middleware as never).on('error', (error) => {
      reported = error
    })
    await fetchFrom(app.callback())
    return reported
  },
  async Hono(middleware) {
    let reported: unknown
    const app = new Hono().use(middleware as never).onError((error, context) => {
      reported = error
      return context.text('failed', 500)
    })
    await fetchFrom(createAdaptorServer(app) as never)
    return reported
  },
  async Fastify(plugin) {
    // Fastify lets the error of a plugin that is not async end the process.
    const app = fastify().register(async (instance, options) => {
      await (plugin as (...args: unknown[]) => unknown)(instance, options, () => {})
    }, OPTIONS)
    closing.push(() => app.close())
    return Promise.resolve(app.ready()).then(
      () => undefined,
      (error) => error,
    )
  },
}

async function inExpress(create: typeof express, middleware: unknown): Promise<unknown> {
  let reported: unknown
  const app = create()
  app.use(middleware as never)
  app.use(((error: unknown, _: unknown, response: express.Response, __: unknown) => {
    reported = error
    response.sendStatus(500)
  }) as never)
  await fetchFrom(app)
  return reported
}

const errorOf = (framework: string, middleware: unknown) => FRAMEWORKS[framework]!(middleware)
const ADAPTERS = { forExpress, forFetch, forHono, forKoa, forNode }
const invalid = (message: string) =>
  expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(message) })

const IMPORTS: [string, string][] = [
  [
    'Express 5',
    "For Express, call it: app.use(rateLimit({ limit: 100, window: '1m' })), with import { rateLimit } from '@tidegate/http/express'.",
  ],
  ['Express 4', "with import { rateLimit } from '@tidegate/http/express'."],
  ['Koa', "with import { rateLimit } from '@tidegate/http/koa'."],
  ['Hono', "with import { rateLimit } from '@tidegate/http/hono'."],
  [
    'Fastify',
    "For Fastify, call it: app.register(rateLimit, { limit: 100, window: '1m' }), with import { rateLimit } from '@tidegate/http/fastify'.",
  ],
]

describe.each(IMPORTS)('in %s', (framework, message) => {
  const isOwn = (name: string) => framework.startsWith(name.slice('for'.length))

  it.each(Object.entries(ADAPTERS))('%s without options is rejected', async (_, adapter) => {
    expect(await errorOf(framework, adapter)).toStrictEqual(invalid(message))
  })

  it.each(Object.entries(ADAPTERS).filter(([name]) => !isOwn(name) && framework !== 'Fastify'))(
    '%s with options is rejected',
    async (_, adapter) => {
      expect(await errorOf(framework, create(adapter))).toStrictEqual(invalid(message))
    },
  )
})

it.each(IMPORTS.filter(([framework]) => framework !== 'Fastify'))(
  'in %s, forFastify as middleware is rejected',
  async (framework, message) => {
    expect(await errorOf(framework, forFastify)).toStrictEqual(invalid(message))
  },
)

it('the plugin of Fastify is rejected at once when it is called with options', () => {
  expect(() => create(forFastify)).toThrow(
    invalid('rateLimit of @tidegate/http/fastify needs an instance of Fastify'),
  )
})

it.each(Object.entries(ADAPTERS))('%s as a hook of Fastify is rejected', async (name, adapter) => {
  if (name === 'forNode' || name === 'forFetch') {
    const hook = create(adapter) as (request: object) => unknown
    expect(() => hook({ raw: {}, server: {}, log: {} })).toThrow(invalid("'@tidegate/http/fastify'"))
    return
  }
  const app = fastify()
  closing.push(() => app.close())
  app.addHook('onRequest', async (request, reply) => {
    await (create(adapter) as (...args: unknown[]) => unknown)(request, reply, () => {})
  })
  app.get('/', () => 'hello')
  const { statusCode, body } = await app.inject('/')
  expect([statusCode, JSON.parse(body).message]).toStrictEqual([
    500,
    expect.stringContaining("'@tidegate/http/fastify'"),
  ])
})

it.each([
  ['without options', forNode],
  ['without a handler', create(forNode)],
])('in node:http, rateLimit %s throws an error with the call to write', async (_, listener) => {
  const server = createServer()
  const failing = new Promise((resolve) => {
    server.on('request', (request, response) => {
      try {
        ;(listener as (...args: unknown[]) => unknown)(request, response)
      } catch (error) {
        response.end()
        resolve(error)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => server.close())
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(await failing).toStrictEqual(
    invalid("For node:http, call it: createServer(rateLimit({ limit: 100, window: '1m' })(handler))"),
  )
})

it.each([
  ['without options', forFetch],
  ['without a handler', create(forFetch)],
])('a fetch handler made by rateLimit %s throws', (_, handler) => {
  const call = () => (handler as (request: Request) => unknown)(new Request('http://localhost/'))
  expect(call).toThrow(invalid("call it: rateLimit({ limit: 100, window: '1m' })(handler)"))
})

it('a handler instead of options is rejected', () => {
  const wrapped = () => forNode(((_: unknown, response: { end(): void }) => response.end()) as never)
  expect(wrapped).toThrow(
    invalid(
      "rateLimit() needs options, got [function]. Call it with options first: rateLimit({ limit: 100, window: '1m' }).",
    ),
  )
})

describe('in NestJS', () => {
  it('RateLimitModule without forRoot() is rejected', async () => {
    class App {}
    Module({ imports: [RateLimitModule] })(App)
    const creating = NestFactory.create(App, { logger: false, abortOnError: false })
    await expect(creating).rejects.toThrow(
      invalid("Write imports: [RateLimitModule.forRoot({ limit: 100, window: '1m' })]."),
    )
  })

  it('a feature module may import the class beside forRoot()', async () => {
    class Feature {}
    Module({ imports: [RateLimitModule] })(Feature)
    class App {}
    Module({ imports: [RateLimitModule.forRoot(OPTIONS), Feature] })(App)
    const app = await NestFactory.create(App, { logger: false, abortOnError: false })
    closing.push(() => app.close())
    await app.init()
  })

  it('@RateLimit without a call is rejected', () => {
    class Pages {
      answer() {}
    }
    const message = invalid(
      "@RateLimit() needs options, got [class Pages]. Call it with options first: @RateLimit({ limit: 100, window: '1m' }).",
    )
    expect(() => RateLimit(Pages as never)).toThrow(message)
    expect(() => RateLimit(Pages.prototype as never)).toThrow(message)
  })
})

vi.setConfig({ testTimeout: 20_000 })
