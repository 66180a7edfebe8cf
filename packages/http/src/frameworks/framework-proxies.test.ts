import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { fixedWindow } from '@tidegate/core'
import express from 'express'
// @ts-expect-error: the package has no types under this name
import express4 from 'express-4'
import { type FastifyServerOptions, fastify } from 'fastify'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { listen } from '../../test/listen.js'
import type { ProxiesOptions } from '../address/proxies.js'
import type { RateLimitEvent } from '../middleware/rate-limit-options.js'
import { rateLimit as expressRateLimit } from './express.js'
import { rateLimit as fastifyRateLimit } from './fastify.js'
import { rateLimit as koaRateLimit } from './koa.js'
import { RateLimitModule } from './nest.js'

// The proxy setting of each framework is the default, and no client can choose its address by the headers it sends.

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Options {
  policy: ReturnType<typeof fixedWindow>
  onDecision(event: RateLimitEvent<unknown>): void
  proxies?: ProxiesOptions
}

/** Serves with a proxy setting of the framework, and returns the port. */
type Serve<Setting> = (setting: Setting, options: Options) => Promise<number>

/** Finds the key of a request with this X-Forwarded-For, which comes from 127.0.0.1. */
async function keysOf<Setting>(
  serve: Serve<Setting>,
  setting: Setting,
  headers: string[],
  proxies?: ProxiesOptions,
) {
  const keys: string[] = []
  const port = await serve(setting, {
    policy: fixedWindow({ limit: 100, window: '365d', name: 'many' }),
    onDecision: ({ limits }) => void keys.push(limits[0]!.key),
    ...(proxies !== undefined && { proxies }),
  })
  for (const header of headers) {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      headers: header === '' ? {} : { 'x-forwarded-for': header },
    })
    await response.text()
  }
  return keys
}

const PEER = 'ip:127.0.0.1'
const CLIENT = 'ip:203.0.113.9'
/** As one proxy forwards it: the client sent the part before the last comma. */
const FORGED = ['203.0.113.9', '1.1.1.1, 203.0.113.9', '2.2.2.2, 3.3.3.3, 203.0.113.9', 'junk, 203.0.113.9']

const expressOf =
  (create: typeof express): Serve<unknown> =>
  async (setting, options) => {
    const app = create()
    if (setting !== undefined) app.set('trust proxy', setting)
    app.get('/', expressRateLimit(options), (_, response) => void response.send('ok'))
    const { port, close } = await listen(app)
    closing.push(close)
    return port
  }

const serveFastify: Serve<FastifyServerOptions['trustProxy'] | undefined> = async (trustProxy, options) => {
  const app = fastify({ forceCloseConnections: true, ...(trustProxy !== undefined && { trustProxy }) })
  closing.push(() => app.close())
  await app.register(fastifyRateLimit, options)
  app.get('/', async () => 'ok')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as { port: number }).port
}

type KoaSetting = { proxy?: boolean; proxyIpHeader?: string; maxIpsCount?: number } | undefined
const serveKoa: Serve<KoaSetting> = async (setting, options) => {
  const app = new Koa(setting)
  app.use(koaRateLimit(options))
  app.use((context) => {
    context.body = 'ok'
  })
  const { port, close } = await listen(app.callback())
  closing.push(close)
  return port
}

/** Nest has the setting of its platform. */
const nestOf =
  (platform: 'express' | 'fastify'): Serve<string | true | undefined> =>
  async (setting, options) => {
    class Pages {
      page() {
        return 'ok'
      }
    }
    Get('/')(Pages.prototype, 'page', Object.getOwnPropertyDescriptor(Pages.prototype, 'page')!)
    Controller()(Pages)
    class App {}
    Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Pages] })(App)
    const adapter =
      platform === 'express'
        ? new ExpressAdapter()
        : new FastifyAdapter(setting === undefined ? {} : { trustProxy: setting })
    const app = await NestFactory.create(App, adapter as never, { logger: false })
    if (platform === 'express' && setting !== undefined) {
      ;(app as unknown as { set(name: string, value: unknown): void }).set('trust proxy', setting)
    }
    await app.listen(0, '127.0.0.1')
    closing.push(() => app.close())
    return app.getHttpServer().address().port
  }

// biome-ignore lint/suspicious/noExplicitAny: each framework has its own kind of setting
const FRAMEWORKS: [string, Serve<any>, { byAddress: unknown; all: unknown }][] = [
  ['Express 5', expressOf(express), { byAddress: 'loopback', all: true }],
  ['Express 4', expressOf(express4), { byAddress: ['127.0.0.1'], all: true }],
  ['Fastify', serveFastify, { byAddress: '127.0.0.1', all: true }],
  ['Koa', serveKoa, { byAddress: { proxy: true, maxIpsCount: 1 }, all: { proxy: true } }],
  ['Nest on Express', nestOf('express'), { byAddress: 'loopback', all: true }],
  ['Nest on Fastify', nestOf('fastify'), { byAddress: '127.0.0.1', all: true }],
]

describe.each(FRAMEWORKS)('%s', (_, serve, { byAddress, all }) => {
  it('ignores the header without a setting', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    expect(await keysOf(serve, undefined, ['', ...FORGED])).toStrictEqual([PEER, ...FORGED.map(() => PEER)])
  })

  it('uses the entry of a trusted proxy, and ignores entries of the client', async () => {
    expect(await keysOf(serve, byAddress, ['', ...FORGED])).toStrictEqual([PEER, ...FORGED.map(() => CLIENT)])
  })

  it('gives three clients behind the proxy separate limits', async () => {
    const clients = ['203.0.113.1', '203.0.113.2', '203.0.113.3']
    expect(await keysOf(serve, byAddress, clients)).toStrictEqual(clients.map((address) => `ip:${address}`))
  })

  it('uses the address of the proxy if its entry is not an address', async () => {
    expect(await keysOf(serve, byAddress, ['junk', '_hidden', '203.0.113.9, junk'])).toStrictEqual([
      PEER,
      PEER,
      PEER,
    ])
  })

  it('treats a setting that trusts every proxy as one proxy, with a warning for longer chains', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    expect(await keysOf(serve, all, ['', '203.0.113.9'])).toStrictEqual([PEER, CLIENT])
    expect(warned).not.toHaveBeenCalled()
    expect(await keysOf(serve, all, FORGED)).toStrictEqual(FORGED.map(() => CLIENT))
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/trusts every proxy.*proxies: \{ hops: 2 \}/),
        { type: 'TidegateWarning', code: 'TIDEGATE_PROXY_UNTRUSTED' },
      ],
    ])
  })

  it('prefers the option to the setting', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const chain = '1.1.1.1, 203.0.113.9, 10.0.0.1'
    expect(await keysOf(serve, byAddress, [chain, '203.0.113.9'], { hops: 2 })).toStrictEqual([CLIENT, PEER])
    expect(await keysOf(serve, byAddress, [chain], { trusted: [] })).toStrictEqual([PEER])
    expect(await keysOf(serve, byAddress, ['2001:db8::1'], { ipv6Prefix: 128 })).toStrictEqual([
      'ip:2001:db8::1',
    ])
  })
})

describe.each<[string, (hops: number) => unknown]>([
  ['Express', (hops) => hops],
  ['Koa', (hops) => ({ proxy: true, maxIpsCount: hops })],
])('a number of proxies in %s', (name, settingOf) => {
  const serve = (name === 'Koa' ? serveKoa : expressOf(express)) as Serve<unknown>

  it('counts from the right, and uses the peer if the chain is too short', async () => {
    const headers = ['1.1.1.1, 203.0.113.9, 10.0.0.1', '203.0.113.9, 10.0.0.1', '203.0.113.9', '']
    expect(await keysOf(serve, settingOf(2), headers)).toStrictEqual([CLIENT, CLIENT, PEER, PEER])
  })
})

it('supports a function in Fastify', async () => {
  const trustProxy = (address: string, hop: number) => address.startsWith('127.') || hop === 1
  expect(await keysOf(serveFastify, trustProxy, ['1.1.1.1, 203.0.113.9, 10.0.0.1'])).toStrictEqual([CLIENT])
})

it('supports a header that the proxy replaces in Koa', async () => {
  const keys: string[] = []
  const port = await serveKoa(
    { proxy: true, proxyIpHeader: 'X-Real-IP' },
    {
      policy: fixedWindow({ limit: 100, window: '365d', name: 'many' }),
      onDecision: ({ limits }) => void keys.push(limits[0]!.key),
    },
  )
  for (const address of ['203.0.113.9', '1.1.1.1, 203.0.113.9', 'junk']) {
    await fetch(`http://127.0.0.1:${port}/`, {
      headers: { 'x-real-ip': address, 'x-forwarded-for': '1.1.1.1' },
    })
  }
  expect(keys).toStrictEqual([CLIENT, PEER, PEER])
})
