import { fixedWindow } from '@tidegate/core'
import express from 'express'
// @ts-expect-error: the same types, which it does not have under this name
import express4 from 'express-4'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa, { type Context, type Next } from 'koa'
import { afterEach, describe, expect, it } from 'vitest'
import { rateLimit as forExpress } from '../src/frameworks/express.js'
import { rateLimit as forFastify } from '../src/frameworks/fastify.js'
import { rateLimit as forHono } from '../src/frameworks/hono.js'
import { rateLimit as forKoa } from '../src/frameworks/koa.js'
import { listen } from './listen.js'
import { collectWarnings } from './warnings.js'

const closing: (() => Promise<void>)[] = []
afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })
/** Rules for these paths; a request is one client. */
const rulesFor = (...paths: (string | string[])[]) => ({
  rules: paths.map((path, i) => ({ policy, key: `rule-${i}`, match: { path } })),
})
type Options = ReturnType<typeof rulesFor>
/** Sends requests to a limiter that is mounted at `/api`, and returns their statuses. */
type Send = (...paths: string[]) => Promise<number[]>

async function requester(listener: Parameters<typeof listen>[0]): Promise<Send> {
  const { port, close } = await listen(listener)
  closing.push(close)
  return (...paths) => statusesOf(paths, (path) => fetch(`http://127.0.0.1:${port}${path}`))
}

async function statusesOf(paths: string[], send: (path: string) => Response | Promise<Response>) {
  const statuses: number[] = []
  for (const path of paths) statuses.push((await send(path)).status)
  return statuses
}

const withExpress = (create: typeof express) => (options: Options) => {
  const router = create.Router()
  router.use(forExpress(options))
  router.use((_, response) => void response.send('hello'))
  return requester(create().use('/api', router))
}

/** As koa-mount does it. */
function mount(prefix: string, inner: (context: Context, next: Next) => unknown) {
  return async (context: Context, next: Next) => {
    if (!context.path.startsWith(`${prefix}/`)) return next()
    context.mountPath = prefix
    context.path = context.path.slice(prefix.length)
    return inner(context, next)
  }
}

const FRAMEWORKS: [string, (options: Options) => Promise<Send>][] = [
  ['Express 5', withExpress(express)],
  ['Express 4', withExpress(express4 as typeof express)],
  [
    'Koa',
    (options) => {
      const app = new Koa()
      app.use(mount('/api', forKoa(options)))
      app.use((context) => {
        context.body = 'hello'
      })
      return requester(app.callback())
    },
  ],
  [
    'Hono',
    async (options) => {
      const inner = new Hono().use(forHono(options)).all('*', (context) => context.text('hello'))
      const app = new Hono().route('/api', inner)
      return (...paths) => statusesOf(paths, (path) => app.request(path))
    },
  ],
  [
    'Fastify',
    async (options) => {
      const app = fastify()
      app.register(
        async (inner) => {
          await inner.register(forFastify, options)
          inner.get('/*', async () => 'hello')
        },
        { prefix: '/api' },
      )
      await app.listen({ port: 0, host: '127.0.0.1' })
      closing.push(() => app.close())
      const { port } = app.server.address() as { port: number }
      return (...paths) => statusesOf(paths, (path) => fetch(`http://127.0.0.1:${port}${path}`))
    },
  ],
]

const warnings = collectWarnings('TIDEGATE_RULE_UNREACHABLE')

describe.each(FRAMEWORKS)('a rule below a mount path, in %s', (_, create) => {
  it('that lacks the mount path is reported once', async () => {
    const send = await create(rulesFor('/login', ['/x', '/users/{id}']))
    expect(await send('/api/other', '/api/login', '/api/login', '/api/users/1')).toStrictEqual([
      200, 200, 200, 200,
    ])
    expect(await warnings.read()).toStrictEqual([
      expect.stringContaining(
        'the rule "rules[0]" matches "/login", but this middleware is mounted at "/api" and sees "/api/login", so nothing is counted. Write match: { path: "/api/login" }.',
      ),
      expect.stringContaining('the rule "rules[1]" matches "/users/{id}"'),
    ])
  })

  it('that has the full path is not reported', async () => {
    const send = await create(rulesFor('/api/login', '/api/**', '/**/search'))
    expect(await send('/api/login', '/api/login', '/api/search')).toStrictEqual([200, 429, 429])
    expect(await warnings.read()).toStrictEqual([])
  })
})

it('a rule that has matched elsewhere is not reported', async () => {
  const limit = forExpress(rulesFor('/login', '/api/login'))
  const app = express()
  app.use('/api', limit)
  app.use('/login', limit)
  app.use((_, response) => void response.send('hello'))
  const send = await requester(app)
  expect(await send('/login', '/api/login', '/api/login')).toStrictEqual([200, 200, 429])
  expect(await warnings.read()).toStrictEqual([])
})

it('nothing is reported without a mount path, or with warnings: false', async () => {
  const app = express()
  app.use(forExpress(rulesFor('/login')))
  app.use('/api', forExpress({ ...rulesFor('/login'), warnings: false }))
  app.use((_, response) => void response.send('hello'))
  const send = await requester(app)
  expect(await send('/api/login')).toStrictEqual([200])
  expect(await warnings.read()).toStrictEqual([])
})

it('rules also apply in a notFound handler of Hono, which no route matches', async () => {
  const limit = forHono(rulesFor('/login'))
  const app = new Hono()
  app.notFound(async (context) => (await limit(context, async () => {})) ?? context.text('not found', 404))
  expect(await statusesOf(['/other', '/login', '/login'], (path) => app.request(path))).toStrictEqual([
    404, 404, 429,
  ])
})
