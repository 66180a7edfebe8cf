import { Readable } from 'node:stream'
import { createLimiter, fixedWindow, leakyBucket } from '@tidegate/core'
import Koa, { type Context } from 'koa'
import { expect, it } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { listen } from '../../test/listen.js'
import { failingStore } from '../../test/stores.js'
import { rateLimit } from './koa.js'

describeCases({
  name: 'Koa',
  route: undefined,
  routesTargets: true,
  tools: {
    header: (context, name) => context.get(name) || undefined,
    handler: (answer) => (context: Context, event: never) => {
      const { status, text } = answer(event)
      context.status = status
      context.body = text
    },
  },
  serve(options, application) {
    const app = new Koa()
    app.silent = true
    app.use(rateLimit(options as never))
    app.use((context) => {
      const { status, body } = application.answer(context.path)
      context.status = status
      context.body = typeof body === 'string' ? body : Readable.from(body)
    })
    return listen(app.callback())
  },
})

it('middleware in front of a queue ends when the client disconnects', async () => {
  const app = new Koa()
  let [begun, ended, handled] = [0, 0, 0]
  app.use(async (_, next) => {
    begun++
    try {
      await next()
    } finally {
      ended++
    }
  })
  const limiter = createLimiter({ policy: leakyBucket({ capacity: 5, leakRate: '1/1h' }) })
  app.use(rateLimit({ limiter, key: 'all', queue: true }))
  app.use(() => {
    handled++
  })
  const { port, close } = await listen(app.callback())
  const url = `http://127.0.0.1:${port}/`
  await fetch(url)
  const client = new AbortController()
  const held = fetch(url, { signal: client.signal }).catch(() => 'given up')
  await expect.poll(() => begun).toBe(2)
  client.abort()
  expect(await held).toBe('given up')
  await expect.poll(() => ended).toBe(2)
  expect(handled).toBe(1)
  await close()
})

it('an error response has the headers, also of nested limiters', async () => {
  const app = new Koa()
  app.silent = true
  for (const name of ['outer', 'inner']) {
    app.use(rateLimit({ policy: fixedWindow({ limit: 5, window: '365d', name }), key: 'all' }))
  }
  app.use((context) => context.throw(503, { headers: { 'retry-after': '7' } }))
  const { port, close } = await listen(app.callback())
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/`)
  expect([status, headers.get('x-ratelimit-remaining'), headers.get('retry-after')]).toStrictEqual([
    503,
    '4',
    '7',
  ])
  expect(headers.get('ratelimit')).toMatch(/^"outer";r=4;t=\d+, "inner";r=4;t=\d+$/)
  await close()
})

it('an error response of a limiter whose store fails has no numbers of other limiters', async () => {
  const app = new Koa()
  app.silent = true
  app.use(rateLimit({ policy: fixedWindow({ limit: 9, window: '365d', name: 'outer' }), key: 'all' }))
  const inner = fixedWindow({ limit: 5, window: '365d', name: 'inner' })
  app.use(rateLimit({ policy: inner, key: 'all', store: failingStore() }))
  app.use((context) => context.throw(404))
  const server = await listen(app.callback())
  const { status, headers } = await fetch(`http://127.0.0.1:${server.port}/`)
  expect([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toStrictEqual([
    404,
    '5',
    null,
  ])
  await server.close()
})
