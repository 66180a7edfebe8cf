import { createAdaptorServer } from '@hono/node-server'
import { fixedWindow } from '@tidegate/core'
import { type Context, Hono } from 'hono'
import { describe, expect, it, vi } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { listen } from '../../test/listen.js'
import { toResponse } from '../../test/to-response.js'
import { byRoute } from '../keys/resolvers.js'
import { rateLimit } from './hono.js'

describeCases({
  name: 'Hono',
  route: '/status/:code',
  routesTargets: false,
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

describe('the address of the client, on each runtime of Hono', () => {
  const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })
  const from = (address: string) => ({ requestIP: () => ({ address }) })

  it.each<[string, (address: string) => object]>([
    ['Node', (remoteAddress) => ({ incoming: { socket: { remoteAddress } } })],
    ['Deno', (hostname) => ({ remoteAddr: { hostname } })],
    ['Bun', from],
    ['Bun, with its server in an object', (address) => ({ server: from(address) })],
  ])('is passed by %s', async (_, env) => {
    const app = new Hono()
    app.use(rateLimit({ policy }))
    app.get('/', (context) => context.text('hello'))
    const status = async (address: string) => (await app.request('/', {}, env(address))).status
    expect(await status('192.0.2.1')).toBe(200)
    expect(await status('::ffff:192.0.2.1')).toBe(429)
    expect(await status('192.0.2.2')).toBe(200)
  })

  it('can come from the option peer', async () => {
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

it('every response of Hono has the headers: errors, redirects and constructed Responses', async () => {
  const app = new Hono()
  app.use(rateLimit({ policy: fixedWindow({ limit: 10, window: '365d' }), key: 'all' }))
  app.get('/error', () => {
    throw new Error('error of the application')
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

it('nested limiters list their limits together', async () => {
  const app = new Hono()
  for (const [name, limit] of [
    ['outer', 10],
    ['inner', 1],
  ] as const) {
    app.use(rateLimit({ policy: fixedWindow({ limit, window: '365d', name }), key: 'all' }))
  }
  app.get('/', (context) => context.text('hello'))
  for (const [status, left] of [
    [200, 9],
    [429, 8],
  ] as const) {
    const answer = await app.request('/')
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toStrictEqual([status, '1'])
    expect(answer.headers.get('ratelimit')).toMatch(
      new RegExp(`^"outer";r=${left};t=\\d+, "inner";r=0;t=\\d+$`),
    )
  }
})

it('the route is the path of its handler, also with a catch-all', async () => {
  const app = new Hono()
  const keys: string[] = []
  app.use(
    rateLimit({
      policy: fixedWindow({ limit: 10, window: '365d' }),
      key: byRoute(),
      onDecision: ({ limits }) => keys.push(limits[0]!.key),
    }),
  )
  app.get('/users/:id', (context) => context.text('hello'))
  app.all('/any', (context) => context.text('hello'))
  app.get('*', (context) => context.text('the rest'))
  for (const path of ['/users/1', '/users/2', '/elsewhere']) await app.request(path)
  await app.request('/users/1', { method: 'HEAD' })
  expect(keys).toStrictEqual([
    'route:GET /users/:id',
    'route:GET /users/:id',
    'route:GET /*',
    'route:GET /users/:id',
  ])
})

it('a request without an address is an error, and does not reach the handler', async () => {
  const app = new Hono()
  const errors: unknown[] = []
  app.onError((error, context) => {
    errors.push((error as { code?: string }).code)
    return context.text('failed', 500)
  })
  app.use(rateLimit({ limit: 1, window: '1m' }))
  app.get('/', (context) => context.text('hello'))
  const response = await app.request('/')
  expect([response.status, await response.text()]).toStrictEqual([500, 'failed'])
  expect(errors).toStrictEqual(['ADDRESS_UNKNOWN'])
})
