import 'reflect-metadata'
import { once } from 'node:events'
import { Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql'
import { MercuriusDriver } from '@nestjs/mercurius'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { concurrency, fixedWindow, MemoryStore } from '@tidegate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import WebSocket from 'ws'
import { byRoute } from '../keys/resolvers.js'
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from './nest.js'

const two = fixedWindow({ limit: 2, window: '365d', name: 'two' })
const many = fixedWindow({ limit: 100, window: '365d', name: 'many' })

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(closing.splice(0).map((close) => close()))
})

type Decorator = (target: object, property: string, descriptor: PropertyDescriptor) => unknown

/** Applies decorators to a method: they are functions, and vitest does not compile decorators. */
function decorate(type: { prototype: object }, method: string, ...decorators: unknown[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method)!
  for (const one of decorators as Decorator[]) one(type.prototype, method, descriptor)
  Object.defineProperty(type.prototype, method, descriptor)
}

describe('GraphQL', () => {
  interface Result {
    data: Record<string, string> | null
    errors?: { message: string; extensions?: { code?: string; retryAfter?: number } }[]
  }

  async function serve(options: RateLimitModuleOptions) {
    class Accounts {
      hello() {
        return 'hello'
      }
      login() {
        return 'logged in'
      }
      signup() {
        return 'signed up'
      }
      free() {
        return 'free'
      }
    }
    const own = { limit: 1, window: '365d' } as const
    decorate(Accounts, 'hello', Query())
    decorate(Accounts, 'login', Mutation(), RateLimit(own))
    decorate(Accounts, 'signup', Mutation(), RateLimit(own))
    decorate(Accounts, 'free', Query(), SkipRateLimit())
    Resolver()(Accounts)
    class App {}
    Module({
      imports: [
        RateLimitModule.forRoot(options),
        GraphQLModule.forRoot({
          driver: MercuriusDriver,
          typeDefs:
            'type Query { hello: String, free: String } type Mutation { login: String, signup: String }',
        }),
      ],
      providers: [Accounts],
    })(App)
    const app = await NestFactory.create(App, new FastifyAdapter({ forceCloseConnections: true }), {
      logger: false,
    })
    await app.listen(0, '127.0.0.1')
    closing.push(() => app.close())
    const url = `http://127.0.0.1:${app.getHttpServer().address().port}/graphql`
    return async (query: string, headers: Record<string, string> = {}) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      })
      return { headers: response.headers, ...((await response.json()) as Result) }
    }
  }

  it('operations free a slot when the response is sent', async () => {
    const policy = concurrency({ limit: 1, name: 'slots' })
    const store = new MemoryStore()
    const ask = await serve({ policy, store, key: 'all' })
    for (let i = 0; i < 2; i++) {
      expect(await ask('{ hello }')).toMatchObject({ data: { hello: 'hello' } })
      await expect.poll(() => store.peek({ policy, key: 'all', cost: 1 }).remaining).toBe(1)
    }
  })

  it('operations are counted, and denied with an error that has the wait', async () => {
    const ask = await serve({ policy: two })
    const first = await ask('{ hello }')
    expect(first.data).toStrictEqual({ hello: 'hello' })
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    await ask('{ hello }')
    const denied = await ask('{ hello }')
    expect(denied.data).toStrictEqual({ hello: null })
    expect(denied.errors?.[0]?.message).toMatch(/^Too many requests\. Please retry after \d+ seconds\.$/)
    expect(denied.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(denied.errors?.[0]?.extensions).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfter: Number(denied.headers.get('retry-after')),
    })
  })

  it('each operation in one request counts, also under aliases, without a warning', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const ask = await serve({ policy: two })
    const { data, errors } = await ask('{ a: hello b: hello c: hello }')
    expect(Object.values(data!).filter((value) => value !== null)).toHaveLength(2)
    expect(errors).toHaveLength(1)
    expect(warned).not.toHaveBeenCalled()
  })

  it('methods with equal numbers count separately, and skipped methods not at all', async () => {
    const ask = await serve({ policy: many })
    const logins = [await ask('mutation { login }'), await ask('mutation { login }')]
    expect(logins.map(({ errors }) => errors?.length ?? 0)).toStrictEqual([0, 1])
    expect((await ask('mutation { signup }')).data).toStrictEqual({ signup: 'signed up' })
    expect((await ask('{ free }')).headers.get('x-ratelimit-limit')).toBeNull()
  })

  it('the key can be made of headers and of the operation', async () => {
    const keys: string[] = []
    const ask = await serve({
      rules: [
        { policy: many, key: 'user:{header.x-user-id}' },
        { policy: two, key: byRoute() },
      ],
      onDecision: ({ limits }) => keys.push(...limits.map(({ key }) => key)),
    })
    await ask('{ hello }', { 'x-user-id': 'alice' })
    expect(keys).toStrictEqual(['user:alice', 'route:POST Query.hello'])
  })
})

describe('a WebSocket gateway', () => {
  async function serve(options: RateLimitModuleOptions, above: ClassDecorator[] = [], keepsUpgrade = false) {
    class Chat {
      calls = 0
      say(_client: unknown, text: string) {
        this.calls++
        return { event: 'said', data: text }
      }
    }
    decorate(Chat, 'say', SubscribeMessage('say'))
    if (keepsUpgrade) {
      Object.assign(Chat.prototype, {
        handleConnection: (client: object, request: object) => Object.assign(client, { upgradeReq: request }),
      })
    }
    for (const one of [WebSocketGateway() as ClassDecorator, ...above]) one(Chat)
    class App {}
    Module({ imports: [RateLimitModule.forRoot(options)], providers: [Chat] })(App)
    const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false })
    app.useWebSocketAdapter(new WsAdapter(app))
    await app.listen(0, '127.0.0.1')
    closing.push(() => app.close())
    const { port } = app.getHttpServer().address()

    async function connect(headers: Record<string, string> = {}) {
      const client = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
      closing.unshift(async () => client.terminate())
      await once(client, 'open')
      return async (text: string) => {
        client.send(JSON.stringify({ event: 'say', data: text }))
        const [message] = await once(client, 'message')
        return JSON.parse(String(message)) as {
          event: string
          data: { error?: string; retry_after?: number }
        }
      }
    }
    return { connect, chat: app.get(Chat) }
  }

  it.each<[string, RateLimitModuleOptions, ClassDecorator[]]>([
    ['the global guard', { policy: two }, []],
    ['its own guard', { policy: two, global: false }, [UseGuards(RateLimitGuard)]],
  ])('is counted by %s, by the address of the client', async (_, options, above) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { connect, chat } = await serve(options, above)
    const [say, other] = [await connect(), await connect()]
    expect(await say('one')).toStrictEqual({ event: 'said', data: 'one' })
    expect((await other('two')).event).toBe('said')
    const denied = await say('three')
    expect(denied).toMatchObject({
      event: 'exception',
      data: {
        status: 'error',
        error: 'rate_limit_exceeded',
        message: expect.stringMatching(/^Too many requests/),
      },
    })
    expect(denied.data.retry_after).toBeGreaterThan(0)
    expect(chat.calls).toBe(2)
    expect(warned).not.toHaveBeenCalled()
  })

  it('cannot have a concurrency policy, because the end of a message is unknown', async () => {
    const policy = concurrency({ limit: 2, name: 'slots' })
    const store = new MemoryStore()
    const { connect, chat } = await serve({ policy, store, key: 'all' })
    const say = await connect()
    for (let i = 0; i < 3; i++) expect((await say('hello')).event).toBe('exception')
    expect([chat.calls, store.peek({ policy, key: 'all', cost: 1 }).remaining]).toStrictEqual([0, 2])
  })

  it('can be counted by the client and the message', async () => {
    const key = (client: { name?: string }) => {
      client.name ??= `client ${Math.random()}`
      return client.name
    }
    const { connect } = await serve({ policy: two, key })
    const [say, other] = [await connect(), await connect()]
    for (const text of ['one', 'two']) expect((await say(text)).event).toBe('said')
    expect((await say('three')).event).toBe('exception')
    expect((await other('one')).event).toBe('said')
  })

  it('behind a proxy counts by the header of the upgrade request, which a client cannot forge', async () => {
    const { connect } = await serve({ policy: two, proxies: { hops: 1 } }, [], true)
    const events = []
    for (const forged of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
      const say = await connect({ 'x-forwarded-for': `${forged}, 203.0.113.9` })
      events.push((await say('hello')).event)
    }
    expect(events).toStrictEqual(['said', 'said', 'exception'])
    const say = await connect({ 'x-forwarded-for': '203.0.113.10' })
    expect((await say('hello')).event).toBe('said')
  })

  it('behind a proxy without the upgrade request does not run', async () => {
    const { connect, chat } = await serve({ policy: two, proxies: { hops: 1 } })
    const say = await connect({ 'x-forwarded-for': '203.0.113.9' })
    expect(await say('hello')).toMatchObject({
      event: 'exception',
      data: { message: 'Internal server error' },
    })
    expect(chat.calls).toBe(0)
  })
})
