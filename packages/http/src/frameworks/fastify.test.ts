import { Readable } from 'node:stream'
import { fixedWindow } from '@tidegate/core'
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
} from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { rawStatus } from '../../test/raw-status.js'
import { statusesOf } from '../../test/statuses.js'
import { failingStore } from '../../test/stores.js'
import { rateLimit } from './fastify.js'

describeCases({
  name: 'Fastify',
  route: '/status/:code',
  routesTargets: true,
  tools: {
    header: (request, name) => request.headers[name],
    handler: (answer) => (_: FastifyRequest, reply: FastifyReply, event: never) => {
      const { status, text } = answer(event)
      reply.code(status).send(text)
    },
  },
  async serve(options, application) {
    const app = fastify({ forceCloseConnections: true })
    const answer = (request: FastifyRequest, reply: FastifyReply) => {
      const { status, body } = application.answer(request.url.split('?')[0]!)
      reply.code(status).send(typeof body === 'string' ? body : Readable.from(body))
    }
    // Before the plugin is loaded.
    app.all('/status/:code', answer)
    app.register(rateLimit, options as never)
    app.all('*', answer)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as { port: number }).port, close: () => app.close() }
  },
})

describe('the plugin', () => {
  const closing: FastifyInstance[] = []
  afterEach(() => Promise.all(closing.splice(0).map((app) => app.close())))

  const one = fixedWindow({ limit: 1, window: '365d', name: 'one' })
  const many = fixedWindow({ limit: 100, window: '365d', name: 'many' })

  /** The statuses of requests for these paths, one after another. */
  async function ask(app: FastifyInstance, ...paths: string[]): Promise<number[]> {
    closing.push(app)
    const url = app.server.listening ? urlOf(app) : await app.listen({ port: 0, host: '127.0.0.1' })
    return statusesOf(url, paths)
  }

  function urlOf(app: FastifyInstance): string {
    return `http://127.0.0.1:${(app.server.address() as { port: number }).port}`
  }

  it.each<[string, (reply: FastifyReply) => unknown]>([
    ['sends', (reply) => void reply.code(418).send('own')],
    ['sends and returns the reply', (reply) => reply.code(418).send('own')],
    ['sends and promises the reply', async (reply) => reply.code(418).send('own')],
    ['returns', () => 'own'],
    [
      'promises',
      async (reply) => {
        await Promise.resolve()
        reply.code(418)
        return 'own'
      },
    ],
  ])('sends the response of a handler that %s it', async (_, respond) => {
    const app = fastify()
    closing.push(app)
    app.register(rateLimit, { policy: one, key: 'all', handler: (_, reply) => respond(reply) })
    app.get('/', async () => 'hello')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const answers = []
    for (let i = 0; i < 2; i++) answers.push(await (await fetch(url)).text())
    expect(answers).toStrictEqual(['hello', 'own'])
  })

  it('lists its limits beside those of another plugin', async () => {
    const app = fastify()
    closing.push(app)
    app.register(rateLimit, { policy: many, key: 'all' })
    app.register(rateLimit, { policy: one, key: 'all' })
    app.get('/', async () => 'hello')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const { headers } = await fetch(url)
    expect(headers.get('ratelimit')).toMatch(/^"many";r=99;t=\d+, "one";r=0;t=\d+$/)
  })

  it('removes the numbers of another plugin while its store is unavailable', async () => {
    const app = fastify()
    closing.push(app)
    app.register(rateLimit, { policy: many, key: 'all' })
    app.register(rateLimit, { policy: one, key: 'all', store: failingStore() })
    app.get('/', async () => 'hello')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const { headers } = await fetch(url)
    expect(headers.get('x-ratelimit-limit')).toBe('1')
    expect(headers.get('x-ratelimit-remaining')).toBeNull()
  })

  it('refunds requests of inject too', async () => {
    const app = fastify()
    closing.push(app)
    app.register(rateLimit, { policy: one, key: 'all', refundWhen: () => true })
    app.get('/', async () => 'hello')
    for (let i = 0; i < 3; i++) expect((await app.inject('/')).statusCode).toBe(200)
  })

  it('limits routes from before and after it, in other plugins too, and unknown routes', async () => {
    const app = fastify()
    app.get('/before', async () => 'before')
    app.register(rateLimit, { policy: one, key: ({ url }) => url })
    app.get('/after', async () => 'after')
    app.register(async (child) => {
      child.get('/child', async () => 'child')
    })
    const paths = ['/before', '/after', '/child', '/missing']
    expect(await ask(app, ...paths, ...paths)).toStrictEqual([200, 200, 200, 404, 429, 429, 429, 429])
  })

  it('limits only the plugin that it is registered in', async () => {
    const app = fastify()
    app.register(async (child) => {
      child.register(rateLimit, { policy: one })
      child.get('/inside', async () => 'inside')
    })
    app.get('/outside', async () => 'outside')
    expect(await ask(app, '/inside', '/inside', '/outside', '/outside')).toStrictEqual([200, 429, 200, 200])
  })

  it('uses the options of a route, from before and after the plugin', async () => {
    const app = fastify()
    const routes = (name: string) => {
      app.get(`/${name}/free`, { config: { rateLimit: false } }, async () => 'free')
      app.get(`/${name}/own`, { config: { rateLimit: { policy: one, key: name } } }, async () => 'own')
      app.get(`/${name}/dear`, { config: { rateLimit: { cost: 60 } } }, async () => 'dear')
      const handler = (_: FastifyRequest, reply: FastifyReply) => reply.code(418).send('handled')
      app.get(
        `/${name}/handled`,
        { config: { rateLimit: { policy: one, key: `${name} 2`, handler } } },
        async () => 1,
      )
    }
    routes('before')
    await app.register(rateLimit, { policy: many })
    routes('after')
    for (const name of ['before', 'after']) {
      expect(await ask(app, `/${name}/free`, `/${name}/free`)).toStrictEqual([200, 200])
      expect(await ask(app, `/${name}/own`, `/${name}/own`)).toStrictEqual([200, 429])
      expect(await ask(app, `/${name}/handled`, `/${name}/handled`)).toStrictEqual([200, 418])
    }
    // Both cost 60 of the same 100.
    expect(await ask(app, '/before/dear', '/after/dear')).toStrictEqual([200, 429])
  })

  it.each([
    ['at the top level', { useSemicolonDelimiter: true }],
    ['of the router', { routerOptions: { useSemicolonDelimiter: true } }],
  ])('matches the path that the router runs, with useSemicolonDelimiter %s', async (_, options) => {
    const app = fastify(options as FastifyServerOptions)
    app.register(rateLimit, { rules: [{ match: { path: '/login' }, policy: one, key: '{path}' }] })
    app.get('/login', async () => 'logged in')
    app.get('/other', async () => 'other')
    closing.push(app)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as { port: number }
    const statuses = []
    for (const path of ['/login', '/login;x/../y', '/login;x', '/login;/../../z?a=b', '/login?;']) {
      statuses.push(await rawStatus(port, path))
    }
    expect(statuses).toStrictEqual([200, 429, 429, 429, 429])
    expect(await rawStatus(port, '/other;x/../login')).toBe(200)
  })

  it('leaves semicolons in the path without useSemicolonDelimiter', async () => {
    const app = fastify()
    closing.push(app)
    app.register(rateLimit, { rules: [{ match: { path: '/a/b' }, policy: one, key: 'all' }] })
    app.get('/*', async () => 'any')
    expect((await app.inject('/a;x/b')).headers['x-ratelimit-remaining']).toBe('0')
  })

  it('limits only routes with options if it is not global', async () => {
    const app = fastify()
    await app.register(rateLimit, { global: false, policy: one })
    app.get('/free', async () => 'free')
    app.get('/limited', { config: { rateLimit: {} } }, async () => 'limited')
    expect(await ask(app, '/free', '/free', '/limited', '/limited', '/missing')).toStrictEqual([
      200, 200, 200, 429, 404,
    ])
  })

  it('can run in a later hook, where the user is known', async () => {
    const app = fastify()
    app.decorateRequest('user', '')
    app.addHook('onRequest', async (request) => {
      ;(request as { user?: string }).user = String(request.query && (request.query as { user: string }).user)
    })
    app.register(rateLimit, {
      policy: one,
      hook: 'preHandler',
      key: (request) => (request as { user?: string }).user,
    })
    app.get('/', async () => 'hello')
    expect(await ask(app, '/?user=a', '/?user=a', '/?user=b')).toStrictEqual([200, 429, 200])
  })

  it('rejects invalid options when it is registered, and those of a route when the route is added', async () => {
    const register = async (options: object) => {
      const app = fastify()
      closing.push(app)
      await app.register(rateLimit, options as never)
    }
    await expect(register({ windows: 5 })).rejects.toThrow(
      /no option "windows"; did you mean "window"\? It takes .*, handler, global, hook/,
    )
    await expect(register({ max: 3, timeWindow: '1 minute' })).rejects.toThrow(
      /Replace max: 3 with limit: 3\. Replace timeWindow: "1 minute" with window: '1m'\./,
    )
    await expect(register({ policy: one, hook: 'onSend' })).rejects.toThrow(
      /one of onRequest, preValidation, /,
    )
    await expect(register({ policy: one, global: 'no' })).rejects.toThrow(/true or false/)
    const other = fastify()
    closing.push(other)
    await other.register(rateLimit, { policy: many })
    const config = { rateLimit: { cost: 101 } }
    expect(() => other.get('/', { config }, async () => 'hello')).toThrow(/can never be allowed/)
  })
})
