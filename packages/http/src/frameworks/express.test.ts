import { Readable } from 'node:stream'
import { createLimiter, fixedWindow } from '@tidegate/core'
import express, { type Express, type Request, type Response } from 'express'
// @ts-expect-error: the same types, which it does not have under this name
import express4 from 'express-4'
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { listen } from '../../test/listen.js'
import { failingStore } from '../../test/stores.js'
import { byRoute } from '../keys/resolvers.js'
import { rateLimit } from './express.js'

for (const [name, create] of [
  ['Express 5', express],
  ['Express 4', express4 as typeof express],
] as const) {
  describeCases({
    name,
    route: '/status/:code',
    routesTargets: true,
    tools: {
      header: (request, name) => request.get(name),
      handler: (answer) => (_: Request, response: Response, __: unknown, event: never) => {
        const { status, text } = answer(event)
        response.status(status).send(text)
      },
    },
    serve(options, application) {
      const app = create()
      const limit = rateLimit(options as never)
      const answer = (request: Request, response: Response) => {
        const { status, body } = application.answer(request.path)
        response.status(status)
        if (typeof body === 'string') response.send(body)
        else Readable.from(body).pipe(response)
      }
      app.all('/status/:code', limit, answer)
      app.use(limit, answer)
      return listen(app)
    },
  })
}

describe('in Express', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

  async function serve(app: Express) {
    const { port, close } = await listen(app)
    closing.push(close)
    return (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init)
  }

  const five = fixedWindow({ limit: 5, window: '365d', name: 'five' })
  const one = fixedWindow({ limit: 1, window: '365d', name: 'one' })

  it('the spelling of a mount path does not change the name of a route', async () => {
    const router = express.Router({ mergeParams: true })
    const keys: string[] = []
    const onDecision = ({ limits }: { limits: readonly { key: string }[] }) => keys.push(limits[0]!.key)
    router.get('/posts/:post', rateLimit({ policy: one, key: byRoute(), onDecision }), (_, response) => {
      response.send('hello')
    })
    const ask = await serve(express().use('/Users/:user', router))
    const statuses = []
    for (const path of [
      '/users/1/posts/2',
      '/USERS/a%20b/posts/2',
      '/users/%C3%A9/posts/3',
      '//users/1/posts/4',
    ]) {
      statuses.push((await ask(path)).status)
    }
    statuses.push((await ask('/users/1/posts/2', { method: 'HEAD' })).status)
    expect(new Set(keys)).toStrictEqual(new Set(['route:GET /users/:user/posts/:post']))
    expect(statuses).toStrictEqual([200, 429, 429, 404, 429])
  })

  it('nested limiters list their limits together', async () => {
    const outer = fixedWindow({ limit: 10, window: '365d', name: 'outer' })
    const app = express().use(
      rateLimit({ policy: outer, key: 'all' }),
      rateLimit({ policy: one, key: 'all' }),
    )
    const ask = await serve(app.get('/', (_, response) => void response.send('hello')))
    for (const [status, left] of [
      [200, '9'],
      [429, '8'],
    ] as const) {
      const answer = await ask('/')
      expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toStrictEqual([status, '1'])
      expect(answer.headers.get('ratelimit')).toMatch(
        new RegExp(`^"outer";r=${left};t=\\d+, "one";r=0;t=\\d+$`),
      )
      expect(answer.headers.get('ratelimit-policy')).toMatch(/^"outer";q=10;w=\d+, "one";q=1;w=\d+$/)
    }
  })

  it('a limiter whose store fails removes the numbers of other limiters', async () => {
    const app = express().use(
      rateLimit({ policy: one, key: 'all' }),
      rateLimit({ policy: five, key: 'all', store: failingStore() }),
    )
    const ask = await serve(app.get('/', (_, response) => void response.send('hello')))
    const { headers } = await ask('/')
    expect(headers.get('x-ratelimit-degraded')).toBe('open')
    expect(headers.get('x-ratelimit-limit')).toBe('5')
    expect(headers.get('x-ratelimit-remaining')).toBeNull()
    expect(headers.get('x-ratelimit-reset')).toBeNull()
    expect(headers.get('ratelimit')).toMatch(/^"one";r=0;t=\d+$/)
  })

  it('does not change a response that was sent during the check', async () => {
    const app = express()
    app.use((_, response, next) => {
      setTimeout(() => response.writeHead(503).write('too '), 10)
      setTimeout(() => response.end('late'), 60)
      next()
    })
    const key = () => new Promise<string>((resolve) => setTimeout(resolve, 30, 'all'))
    let handled = 0
    app.use(rateLimit({ policy: one, key }), () => {
      handled++
    })
    const ask = await serve(app)
    for (let i = 0; i < 2; i++) {
      const response = await ask('/')
      expect([response.status, await response.text()]).toStrictEqual([503, 'too late'])
    }
    expect(handled).toBe(1)
  })
})

describe('misuse warnings in Express', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    await Promise.all(closing.splice(0).map((close) => close()))
  })

  /** The codes of the warnings during some requests for `/`. */
  async function warnings(prepare: (app: Express) => void, headers: Record<string, string> = {}) {
    const warned = vi
      .spyOn(process, 'emitWarning')
      .mockImplementation(() => {})
      .mockClear()
    const app = express()
    prepare(app)
    app.get('/', (_, response) => {
      response.send('hello')
    })
    const { port, close } = await listen(app)
    closing.push(close)
    for (let i = 0; i < 15; i++) await (await fetch(`http://127.0.0.1:${port}/`, { headers })).text()
    return warned.mock.calls.map(([, options]) => (options as { code: string }).code)
  }

  const policy = fixedWindow({ limit: 100, window: '1m', name: 'api' })

  it('a limiter is used for the application and for one of its routes', async () => {
    const limit = rateLimit({ policy })
    const both = (app: Express) => app.use(limit).get('/', limit)
    expect(await warnings(both)).toStrictEqual(['TIDEGATE_COUNTED_TWICE'])
  })

  it('the application is behind a proxy that it does not trust', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    expect(await warnings((app) => app.use(rateLimit({ policy })), headers)).toStrictEqual([
      'TIDEGATE_PROXY_UNTRUSTED',
    ])
    const byUser = { policy, key: 'user:{header.x-forwarded-for}' }
    expect(await warnings((app) => app.use(rateLimit(byUser)), headers)).toStrictEqual([])
  })

  it('a limiter is created for each request', async () => {
    const inHandler = (app: Express) => {
      app.use(async (request, response, next) => {
        await Promise.resolve()
        rateLimit({ policy })(request, response, next)
      })
    }
    expect(await warnings(inHandler)).toStrictEqual(['TIDEGATE_LIMITER_IN_HANDLER'])
  })

  it('are absent in a correct application', async () => {
    expect(await warnings((app) => app.use(rateLimit({ policy })))).toStrictEqual([])
  })
})

it('keeps the types of the parameters of a route', () => {
  const app = express()
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) })
  app.get('/users/:id', rateLimit({ limiter }), (request, response) => {
    expectTypeOf(request.params).toEqualTypeOf<{ id: string }>()
    response.end()
  })
})
