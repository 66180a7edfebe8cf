import { createAdaptorServer } from '@hono/node-server'
import { fixedWindow } from '@tidegate/core'
import { type Context, Hono } from 'hono'
import { describe, expect, it, vi } from 'vitest'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { toResponse } from '../test/to-response.js'
import { rateLimit } from './hono.js'

describeCases({
  name: 'Hono',
  route: '/status/:code',
  tools: {
    header: (context, name) => context.req.header(name),
    handler: (answer) => (context: Context, event: never) => {
      const { status, text } = answer(event)
      return context.text(text, status as 418)
    },
  },
  serve(options, application) {
    const app = new Hono()
    app.use(rateLimit(options as never))
    const answer = (context: Context) => toResponse(application.answer(context.req.path))
    app.all('/status/:code', answer)
    app.notFound(answer)
    return listen(createAdaptorServer(app) as never)
  },
})

describe('where the client is, on runtimes of Hono', () => {
  const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })
  const from = (address: string) => ({ requestIP: () => ({ address }) })

  it.each<[string, (address: string) => object]>([
    ['Node', (remoteAddress) => ({ incoming: { socket: { remoteAddress } } })],
    ['Deno', (hostname) => ({ remoteAddr: { hostname } })],
    ['Bun', from],
    ['Bun, with its server in an object', (address) => ({ server: from(address) })],
  ])('%s says it', async (_, env) => {
    const app = new Hono()
    app.use(rateLimit({ policy }))
    app.get('/', (context) => context.text('hello'))
    const status = async (address: string) => (await app.request('/', {}, env(address))).status
    expect(await status('192.0.2.1')).toBe(200)
    expect(await status('::ffff:192.0.2.1')).toBe(429)
    expect(await status('192.0.2.2')).toBe(200)
  })

  it('what says it can be named', async () => {
    const app = new Hono()
    app.use(rateLimit({ policy, peer: (context) => context.req.header('cf-connecting-ip') }))
    app.get('/', (context) => context.text('hello'))
    const status = async (address: string) =>
      (await app.request('/', { headers: { 'cf-connecting-ip': address } })).status
    expect([await status('192.0.2.1'), await status('192.0.2.1'), await status('192.0.2.2')]).toStrictEqual([
      200, 429, 200,
    ])
  })
})

it('the headers are on every answer of Hono: of an error, of a redirect, and of a bare Response', async () => {
  const app = new Hono()
  app.use(rateLimit({ policy: fixedWindow({ limit: 10, window: '365d' }), key: 'all' }))
  app.get('/error', () => {
    throw new Error('of the application')
  })
  app.get('/redirect', (context) => context.redirect('/elsewhere'))
  app.get('/frozen', () => Response.redirect('http://127.0.0.1/elsewhere'))
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  const seen: [number, string | null][] = []
  for (const path of ['/error', '/redirect', '/frozen', '/missing']) {
    const { status, headers } = await app.request(path)
    seen.push([status, headers.get('x-ratelimit-remaining')])
  }
  error.mockRestore()
  expect(seen).toStrictEqual([
    [500, '9'],
    [302, '8'],
    [302, '7'],
    [404, '6'],
  ])
})
