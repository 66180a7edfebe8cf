import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createLimiter, fixedWindow, leakyBucket, ManualClock, MemoryStore } from '@tidegate/core'
import { fastify } from 'fastify'
import Koa from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnyRequest } from '../../test/framework.js'
import type { RateLimitOptions } from '../middleware/rate-limit-options.js'
import { rateLimit as fastifyRateLimit } from './fastify.js'
import { rateLimit as koaRateLimit } from './koa.js'
import { rateLimit as nodeRateLimit } from './node.js'

// Node's HTTP/2 responses have the API of HTTP/1 responses, but end differently.

type Options = RateLimitOptions<AnyRequest>
/** Responds with `hello`, or never for the path `/never`. */
type Serve = (options: Options, reached: () => void) => Promise<Http2Server>

const SERVE: Record<string, Serve> = {
  async 'node:http2'(options, reached) {
    const handle = nodeRateLimit(options)((request, response) => {
      reached()
      if (request.url !== '/never') response.end('hello')
    })
    return createServer((request, response) =>
      handle(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    )
  },

  async Koa(options, reached) {
    const app = new Koa()
    app.use(koaRateLimit(options))
    app.use((context) => {
      reached()
      context.status = 200
      if (context.path === '/never') return new Promise(() => {})
      context.body = 'hello'
    })
    return createServer(app.callback() as never)
  },

  async Fastify(options, reached) {
    const app = fastify({ http2: true })
    await app.register(fastifyRateLimit, options)
    app.get('/*', (request, reply) => {
      reached()
      if (request.url !== '/never') reply.send('hello')
    })
    await app.ready()
    return app.server
  },
}

let server: Http2Server | undefined
let session: ClientHttp2Session | undefined
afterEach(() => {
  session?.destroy()
  server?.close()
})

async function start(serve: Serve, options: Options, reached = () => {}) {
  server = await serve(options, reached)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const streams: ServerHttp2Stream[] = []
  server.on('stream', (stream) => streams.push(stream))
  const ask = (path: string) => session!.request({ ':path': path }).on('error', () => {})
  return { ask, streams }
}

describe.each(Object.keys(SERVE))('%s', (name) => {
  it('refunds when the whole response is sent, and not when the client cancels', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 10, window: '365d' }) })
    const reached = vi.fn()
    const refundWhen = vi.fn(() => true)
    const options: Options = { limiter, key: 'all', refundWhen }
    const { ask, streams } = await start(SERVE[name]!, options, reached)

    const brokenOff = ask('/never')
    await expect.poll(() => reached).toHaveBeenCalledTimes(1)
    brokenOff.close(constants.NGHTTP2_CANCEL)
    await expect.poll(() => streams[0]!.destroyed).toBe(true)
    await once(ask('/').resume(), 'close')
    await once(ask('/').resume(), 'close')
    expect(reached).toHaveBeenCalledTimes(3)
    await expect.poll(() => refundWhen).toHaveBeenCalledTimes(2)
    expect(limiter.peek('all').remaining).toBe(9)
  })

  it('does not hold a request whose client disconnected during the check', async () => {
    const policy = leakyBucket({ capacity: 10, leakRate: 100 })
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: new ManualClock(0) }) })
    limiter.check('all')
    const reached = vi.fn()
    let [isCalled, resolveKey] = [false, (_: string) => {}]
    const key = () => {
      isCalled = true
      return new Promise<string>((resolve) => {
        resolveKey = resolve
      })
    }
    const { ask, streams } = await start(SERVE[name]!, { limiter, key, queue: true }, reached)

    const gone = ask('/')
    await expect.poll(() => isCalled).toBe(true)
    gone.close(constants.NGHTTP2_CANCEL)
    await expect.poll(() => streams[0]!.destroyed).toBe(true)
    resolveKey('all')
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(reached).not.toHaveBeenCalled()
    expect(limiter.peek('all').remaining).toBe(8)
  })

  it('reads the host from :authority', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 10, window: '365d' }) })
    const { ask } = await start(SERVE[name]!, { limiter, key: 'host:{header.host}' })
    await once(ask('/').resume(), 'close')
    const { port } = server!.address() as AddressInfo
    expect(limiter.peek(`host:127.0.0.1:${port}`).remaining).toBe(9)
  })
})
