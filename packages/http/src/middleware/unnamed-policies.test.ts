import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLimiter, fixedWindow, type Store } from '@tidegate/core'
import express from 'express'
import { type FastifyInstance, fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { listen } from '../../test/listen.js'
import { statusesOf } from '../../test/statuses.js'
import { promisingStore } from '../../test/stores.js'
import { RateLimit as LimitMethod } from '../decorator/decorator.js'
import { rateLimit as expressRateLimit } from '../frameworks/express.js'
import { rateLimit as fastifyRateLimit } from '../frameworks/fastify.js'
import { rateLimit as fetchRateLimit } from '../frameworks/fetch.js'
import { rateLimit as honoRateLimit } from '../frameworks/hono.js'
import { rateLimit as koaRateLimit } from '../frameworks/koa.js'
import { RateLimit, RateLimitModule } from '../frameworks/nest.js'
import { rateLimit as nodeRateLimit } from '../frameworks/node.js'

// Two limits with equal numbers and without a name never share a count by accident.

const closing: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

const two = { limit: 2, window: '365d' } as const
const unnamed = { code: 'POLICY_UNNAMED', message: expect.stringContaining("name: 'login'") }

async function statuses(url: string, ...paths: string[]): Promise<number[]> {
  return statusesOf(url, paths)
}

describe.each<[string, (options: { store?: Store; name?: string }) => unknown]>([
  ['Express', (options) => expressRateLimit({ ...two, ...options })],
  ['Koa', (options) => koaRateLimit({ ...two, ...options })],
  ['Hono', (options) => honoRateLimit({ ...two, ...options })],
  ['node:http', (options) => nodeRateLimit({ ...two, ...options })],
  ['Fetch', (options) => fetchRateLimit({ ...two, ...options })],
  [
    'a limiter',
    ({ store, name }) =>
      createLimiter({
        policy: fixedWindow({ ...two, ...(name !== undefined && { name }) }),
        ...(store && { store }),
      }),
  ],
])('%s', (_, create) => {
  it('a second unnamed limit on one store is an error with advice', () => {
    const store = promisingStore()
    create({ store })
    expect(() => create({ store })).toThrow(expect.objectContaining(unnamed))
    expect(() => create({ store, name: 'login' })).not.toThrow()
    expect(() => create({ store, name: 'signup' })).not.toThrow()
  })

  it('limits with their own stores need no names', () => {
    create({})
    expect(() => create({})).not.toThrow()
  })
})

it('Express: named limits on one store count separately, and so do those with their own stores', async () => {
  const store = promisingStore()
  const app = express()
  app.get(
    '/login',
    expressRateLimit({ ...two, store, name: 'login' }),
    (_, response) => void response.send('ok'),
  )
  app.get(
    '/signup',
    expressRateLimit({ ...two, store, name: 'signup' }),
    (_, response) => void response.send('ok'),
  )
  app.get('/a', expressRateLimit(two), (_, response) => void response.send('ok'))
  app.get('/b', expressRateLimit(two), (_, response) => void response.send('ok'))
  const { port, close } = await listen(app)
  closing.push(close)
  const url = `http://127.0.0.1:${port}`
  for (const [one, other] of [
    ['/login', '/signup'],
    ['/a', '/b'],
  ] as const) {
    expect(await statuses(url, one, one, one, other)).toStrictEqual([200, 200, 429, 200])
  }
})

it('Koa, Hono and Fetch: limits with their own stores count separately', async () => {
  const koa = new Koa()
  const [koaLogin, koaSignup] = [koaRateLimit(two), koaRateLimit(two)]
  koa.use((context, next) => (context.path === '/login' ? koaLogin(context, next) : koaSignup(context, next)))
  koa.use((context) => {
    context.body = 'ok'
  })
  const { port, close } = await listen(koa.callback())
  closing.push(close)
  const order = ['/login', '/login', '/login', '/signup']
  expect(await statuses(`http://127.0.0.1:${port}`, ...order)).toStrictEqual([200, 200, 429, 200])

  const hono = new Hono()
  const peer = () => '192.0.2.1'
  for (const path of ['/login', '/signup']) {
    hono.get(path, honoRateLimit({ ...two, peer }), (context) => context.text('ok'))
  }
  const [login, signup] = ['/login', '/signup'].map(() =>
    fetchRateLimit({ ...two, peer })(() => new Response('ok')),
  )
  const handled = []
  for (const path of order) {
    const request = () => new Request(`http://localhost${path}`)
    const byFetch = await (path === '/login' ? login! : signup!)(request())
    handled.push([(await hono.request(path)).status, byFetch.status])
  }
  expect(handled).toStrictEqual([
    [200, 200],
    [200, 200],
    [429, 429],
    [200, 200],
  ])
})

describe('Fastify', () => {
  async function serve(prepare: (app: FastifyInstance) => unknown): Promise<string> {
    const app = fastify({ forceCloseConnections: true })
    closing.push(() => app.close())
    await prepare(app)
    return app.listen({ port: 0, host: '127.0.0.1' })
  }
  const limited = { config: { rateLimit: two } }

  it('routes with equal numbers count separately, also if they were made before the plugin', async () => {
    const url = await serve(async (app) => {
      app.get('/before-login', limited, async () => 'ok')
      app.get('/before-signup', limited, async () => 'ok')
      await app.register(fastifyRateLimit, { limit: 100, window: '365d' })
      app.get('/login', limited, async () => 'ok')
      app.get('/signup', limited, async () => 'ok')
    })
    for (const prefix of ['/', '/before-']) {
      const [login, signup] = [`${prefix}login`, `${prefix}signup`]
      expect(await statuses(url, login, login, login, signup)).toStrictEqual([200, 200, 429, 200])
    }
  })

  it('HEAD counts as GET, other methods and versions of a route count separately', async () => {
    const url = await serve(async (app) => {
      await app.register(fastifyRateLimit, { limit: 100, window: '365d' })
      app.get('/login', limited, async () => 'ok')
      app.post('/login', limited, async () => 'ok')
      app.get('/login', { ...limited, constraints: { version: '1.0.0' } }, async () => 'ok')
    })
    const status = async (method: string, headers = {}) =>
      (await fetch(`${url}/login`, { method, headers })).status
    expect([await status('GET'), await status('HEAD'), await status('GET')]).toStrictEqual([200, 200, 429])
    expect([await status('POST'), await status('POST'), await status('POST')]).toStrictEqual([200, 200, 429])
    expect(await status('GET', { 'accept-version': '1.0.0' })).toBe(200)
  })

  it('the same route of two servers on one store shares its count', async () => {
    const store = promisingStore()
    const prepare = async (app: FastifyInstance) => {
      await app.register(fastifyRateLimit, { global: false, store, limit: 100, window: '365d' })
      app.get('/login', limited, async () => 'ok')
    }
    const urls = [await serve(prepare), await serve(prepare)]
    expect(await statuses(urls[0]!, '/login', '/login')).toStrictEqual([200, 200])
    expect(await statuses(urls[1]!, '/login')).toStrictEqual([429])
  })

  it('a route that changes only the cost counts with the plugin', async () => {
    const url = await serve(async (app) => {
      await app.register(fastifyRateLimit, { ...two, store: promisingStore() })
      app.get('/costly', { config: { rateLimit: { cost: 2 } } }, async () => 'ok')
      app.get('/', async () => 'ok')
    })
    expect(await statuses(url, '/costly', '/')).toStrictEqual([200, 429])
  })

  it('two plugins with unnamed policies on one store are an error', async () => {
    const store = promisingStore()
    await serve(async (app) => {
      await app.register(fastifyRateLimit, { ...two, store })
    })
    const second = serve(async (app) => {
      await app.register(fastifyRateLimit, { ...two, store })
    })
    await expect(second).rejects.toThrow(expect.objectContaining(unnamed))
  })
})

describe('Nest', () => {
  type Decorator = (target: object, property: string, descriptor: PropertyDescriptor) => unknown

  function controller(name: string, path: string, methods: string[], above: unknown[], onMethods: unknown[]) {
    const Pages = { [name]: class {} }[name]!
    for (const method of methods) {
      const descriptor = { value: { [method]: () => method }[method], configurable: true, writable: true }
      for (const one of [Get(method), ...onMethods] as Decorator[]) one(Pages.prototype, method, descriptor)
      Object.defineProperty(Pages.prototype, method, descriptor)
    }
    for (const one of [Controller(path), ...above] as ClassDecorator[]) one(Pages)
    return Pages
  }

  async function serve(store: Store, controllers: (new () => object)[]): Promise<string> {
    class App {}
    Module({
      imports: [RateLimitModule.forRoot({ limit: 100, window: '365d', store, name: 'api' })],
      controllers,
    })(App)
    const app = await NestFactory.create(App, { logger: false, abortOnError: false })
    closing.push(() => app.close())
    await app.listen(0, '127.0.0.1')
    return `http://127.0.0.1:${app.getHttpServer().address().port}`
  }

  it('methods with equal numbers count separately, and so do classes, also of one name', async () => {
    const url = await serve(promisingStore(), [
      controller('Users', 'users', ['login', 'signup'], [], [RateLimit(two)]),
      controller('Users', 'v2', ['login'], [], [RateLimit(two)]),
      controller('Posts', 'posts', ['read', 'write'], [RateLimit(two)], []),
      controller('Mails', 'mails', ['read'], [RateLimit(two)], []),
    ])
    expect(await statuses(url, '/users/login', '/users/login', '/users/login')).toStrictEqual([200, 200, 429])
    expect(await statuses(url, '/users/signup', '/v2/login')).toStrictEqual([200, 200])
    expect(await statuses(url, '/posts/read', '/posts/write', '/posts/read')).toStrictEqual([200, 200, 429])
    expect(await statuses(url, '/mails/read')).toStrictEqual([200])
  })

  it('the same method of two applications on one store shares its count', async () => {
    const store = promisingStore()
    const users = () => controller('Users', 'users', ['login'], [], [RateLimit(two)])
    const urls = [await serve(store, [users()]), await serve(store, [users()])]
    expect(await statuses(urls[0]!, '/users/login', '/users/login')).toStrictEqual([200, 200])
    expect(await statuses(urls[1]!, '/users/login')).toStrictEqual([429])
  })
})

describe('the method decorator', () => {
  function limited(className: string, method: string, store: Store, name?: string): () => Promise<string> {
    const Type = { [className]: class {} }[className]!
    const descriptor = { value: async () => 'ok', configurable: true, writable: true }
    LimitMethod({ ...two, store, ...(name !== undefined && { name }) })(Type.prototype, method, descriptor)
    Object.defineProperty(Type.prototype, method, descriptor)
    const one = new Type() as Record<string, () => Promise<string>>
    return () => one[method]!()
  }

  it('methods with equal numbers on one store count separately', async () => {
    const store = promisingStore()
    const [login, signup] = [limited('Users', 'login', store), limited('Users', 'signup', store)]
    for (let i = 0; i < 2; i++) await login()
    await expect(login()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    expect(await signup()).toBe('ok')
  })

  it('two classes with one name are an error at the first call, unless they are named', async () => {
    const store = promisingStore()
    const [one, other] = [limited('Mailer', 'send', store), limited('Mailer', 'send', store)]
    expect(await one()).toBe('ok')
    await expect(other()).rejects.toMatchObject({ code: 'POLICY_UNNAMED', field: 'name' })
    expect(await limited('Mailer', 'send', store, 'bulk')()).toBe('ok')
  })
})

it('two limits with one name and different windows on one store: one warning', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const store = promisingStore()
  const limit = (window: '1s' | '15m', name = 'api') => expressRateLimit({ limit: 5, window, name, store })
  limit('15m')
  limit('15m')
  limit('1s', 'other')
  expect(warn).not.toHaveBeenCalled()
  limit('1s')
  limit('1s')
  expect(warn).toHaveBeenCalledOnce()
  expect(warn.mock.calls[0]).toMatchObject([
    expect.stringContaining('"api"'),
    { code: 'TIDEGATE_POLICY_SUSPICIOUS' },
  ])
  warn.mockRestore()
})
