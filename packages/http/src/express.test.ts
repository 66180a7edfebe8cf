import { Readable } from 'node:stream'
import { fixedWindow } from '@tidegate/core'
import express, { type Express, type Request, type Response } from 'express'
// @ts-expect-error: the same types, which it does not have under this name
import express4 from 'express-4'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { rateLimit } from './express.js'

for (const [name, create] of [
  ['Express 5', express],
  ['Express 4', express4 as typeof express],
] as const) {
  describeCases({
    name,
    route: '/status/:code',
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

describe('in Express, a likely mistake', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    await Promise.all(closing.splice(0).map((close) => close()))
  })

  /** The codes of what is said while `/` is asked for some times. */
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

  it('is to use a limiter for the application and for a route of it', async () => {
    const limit = rateLimit({ policy })
    const both = (app: Express) => app.use(limit).get('/', limit)
    expect(await warnings(both)).toStrictEqual(['COUNTED_TWICE'])
  })

  it('is to be behind a proxy and not to know it', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    expect(await warnings((app) => app.use(rateLimit({ policy })), headers)).toStrictEqual([
      'PROXY_UNTRUSTED',
    ])
    const byUser = { policy, key: 'user:{header.x-forwarded-for}' }
    expect(await warnings((app) => app.use(rateLimit(byUser)), headers)).toStrictEqual([])
  })

  it('is to make a limiter for each request', async () => {
    const inHandler = (app: Express) => {
      app.use(async (request, response, next) => {
        await Promise.resolve()
        rateLimit({ policy })(request, response, next)
      })
    }
    expect(await warnings(inHandler)).toStrictEqual(['LIMITER_IN_HANDLER'])
  })

  it('is none of them in an application as it should be', async () => {
    expect(await warnings((app) => app.use(rateLimit({ policy })))).toStrictEqual([])
  })
})
