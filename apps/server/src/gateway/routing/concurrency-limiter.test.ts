import { once } from 'node:events'
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { connect } from 'node:http2'
import { concurrency, fixedWindow, MemoryStore, type Policy, type SlotRequest } from '@tidegate/core'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { until } from '@tidegate/fixtures/until'
import { parseTemplate } from '@tidegate/http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { deadUrl, gatewayTo, type TestGateway, type TestUpstream, upstreamOf } from '../../../test/gateway.js'
import type { Route } from '../route.js'
import { createRouteLimiter } from './route-limiter.js'

// Slots in a real gateway: each request in flight holds one, and releases it at its end.

const slots = concurrency({ limit: 2, ttl: '30s', name: 'slots' })
const KEY = 'all'

let store: MemoryStore
/** The slots that were released. */
let released: SlotRequest[]
let gateway: TestGateway
let upstream: TestUpstream
/** Requests that the upstream has received and not answered. */
let pending: { request: IncomingMessage; response: ServerResponse }[]

beforeEach(async () => {
  store = new MemoryStore()
  released = []
  const release = store.release.bind(store)
  store.release = (slots) => {
    released.push(...slots)
    return release(slots)
  }
  pending = []
  upstream = await upstreamOf((request, response) => void pending.push({ request, response }))
})
afterEach(async () => {
  for (const { response } of pending) response.destroy()
  await gateway?.close()
  await upstream.close()
})

function limiterBy(...policies: Policy[]): Route['limiter'] {
  const limits = policies.map((policy) => ({ policy, key: parseTemplate(KEY), cost: 1 }))
  return createRouteLimiter('all', { limits, status: 429, queue: false }, store, () => {})
}

async function start(
  route: Partial<Route> = {},
  options: Parameters<typeof gatewayTo>[1] = {},
): Promise<void> {
  gateway = await gatewayTo({ upstreams: [upstream.url], limiter: limiterBy(slots), ...route }, options)
}

function free(policy: Policy = slots): number {
  return store.peek({ policy, key: KEY, cost: 1 }).remaining
}

function send(path = '/'): ClientRequest {
  const sent = httpRequest(gateway.url + path, { agent: false })
  sent.on('error', () => {})
  sent.end()
  return sent
}

/** Sends this many requests, and waits until they are in flight at the upstream. */
async function inFlight(count: number): Promise<ClientRequest[]> {
  const before = pending.length
  const sent = Array.from({ length: count }, () => send())
  await until('the upstream has the requests', () => pending.length === before + count)
  return sent
}

const isFree = () => until('both slots are free', () => free() === 2)

describe('a request in flight', () => {
  it('holds a slot until its response has been sent; beyond the limit, requests are denied', async () => {
    await start()
    const [first] = await inFlight(2)
    expect(free()).toBe(0)
    const denied = await fetch(gateway.url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get('retry-after')).toBe('1')
    expect(denied.headers.get('x-ratelimit-limit')).toBe('2')
    expect(denied.headers.get('ratelimit-policy')).toBe('"slots";q=2;qu="concurrent-requests"')
    const response = once(first!, 'response')
    pending[0]!.response.end('done')
    const [received] = await response
    received.resume()
    expect(received.statusCode).toBe(200)
    await until('a slot is free', () => free() === 1)
    await inFlight(1)
    expect(free()).toBe(0)
  })

  it('holds its slot while its body is being sent', async () => {
    await start()
    const [first] = await inFlight(1)
    const response = once(first!, 'response')
    pending[0]!.response.write('first part')
    const [received] = (await response) as [IncomingMessage]
    await once(received, 'data')
    expect(free()).toBe(1)
    pending[0]!.response.end('the rest')
    received.resume()
    await isFree()
  })

  it('holds one slot per request on a keep-alive connection', async () => {
    await start()
    for (let i = 0; i < 5; i++) {
      const answer = fetch(gateway.url)
      await until('the upstream has the request', () => pending.length === i + 1)
      expect(free()).toBe(1)
      pending[i]!.response.end('done')
      expect(await (await answer).text()).toBe('done')
      await isFree()
    }
    expect(released).toHaveLength(5)
  })

  it('renews its slot, and is not aborted when the slot is lost', async () => {
    const brief = concurrency({ limit: 1, ttl: '1s', name: 'brief' })
    await start({ limiter: limiterBy(brief) })
    const [first] = await inFlight(1)
    await new Promise((resolve) => setTimeout(resolve, 1800))
    expect((await fetch(gateway.url)).status).toBe(429)
    store.reset({ policy: brief, key: KEY })
    await new Promise((resolve) => setTimeout(resolve, 600))
    const response = once(first!, 'response')
    pending[0]!.response.end('done')
    const [received] = (await response) as [IncomingMessage]
    received.resume()
    expect(received.statusCode).toBe(200)
  })
})

describe('the slot is released once when', () => {
  afterEach(() => {
    const ids = released.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('the client disconnects', async () => {
    await start()
    const sent = await inFlight(2)
    for (const request of sent) request.destroy()
    await isFree()
    expect(released).toHaveLength(2)
  })

  it('the client disconnects in the middle of the response', async () => {
    await start()
    const [first] = await inFlight(1)
    const response = once(first!, 'response')
    pending[0]!.response.write('first part')
    await response
    first!.destroy()
    await isFree()
    expect(released).toHaveLength(1)
  })

  it('the client disconnects before the decision', async () => {
    let decide = () => {}
    const decision = new Promise<void>((resolve) => {
      decide = resolve
    })
    const limiter = limiterBy(slots)!
    let isAsked = false
    await start({
      async limiter(request) {
        isAsked = true
        await decision
        return limiter(request)
      },
    })
    const sent = send()
    await until('the limiter is called', () => isAsked)
    sent.destroy()
    await until('it is gone', async () => /^gateway_connections 0$/m.test(await gateway.registry.metrics()))
    decide()
    await until('the slot is released', () => released.length === 1)
    expect(free()).toBe(2)
    expect(pending).toHaveLength(0)
  })

  it('the upstream is unreachable', async () => {
    await start({ upstreams: [await deadUrl()] })
    expect((await fetch(gateway.url)).status).toBe(502)
    await isFree()
    expect(released).toHaveLength(1)
  })

  it('the upstream closes its connection', async () => {
    await start()
    const answer = fetch(gateway.url)
    await until('the upstream has the request', () => pending.length === 1)
    pending[0]!.request.socket.destroy()
    expect((await answer).status).toBe(502)
    await isFree()
  })

  it('the upstream closes its connection in the middle of the response', async () => {
    await start()
    const [first] = await inFlight(1)
    const response = once(first!, 'response')
    pending[0]!.response.write('first part')
    const [received] = (await response) as [IncomingMessage]
    received.on('error', () => {}).resume()
    pending[0]!.request.socket.destroy()
    await isFree()
    expect(released).toHaveLength(1)
  })

  it('the upstream does not respond in time', async () => {
    await start({ timeouts: { connectMs: 1000, headersMs: 300, bodyMs: 300 } })
    expect((await fetch(gateway.url)).status).toBe(504)
    await isFree()
  })

  it('the gateway responds itself', async () => {
    await start({ upstreams: [], fixedResponse: { status: 204, headers: {} } })
    expect((await fetch(gateway.url)).status).toBe(204)
    await isFree()
    expect(released).toHaveLength(1)
  })

  it('the gateway is closed', async () => {
    await start()
    const sent = await inFlight(1)
    const response = once(sent[0]!, 'response')
    const closed = gateway.close()
    pending[0]!.response.end('done')
    const [received] = (await response) as [IncomingMessage]
    received.resume()
    await closed
    expect(free()).toBe(2)
  })
})

describe('a WebSocket', () => {
  it.each(['the client', 'the upstream'])('holds its slot until %s closes it', async (closing) => {
    const server = new WebSocketServer({ server: upstream.server })
    await start({ webSocket: true })
    const client = new WebSocket(gateway.url.replace('http', 'ws'))
    const [[accepted]] = await Promise.all([once(server, 'connection'), once(client, 'open')])
    client.send('hello')
    await once(accepted as WebSocket, 'message')
    expect(free()).toBe(1)
    expect(released).toHaveLength(0)
    if (closing === 'the client') client.terminate()
    else (accepted as WebSocket).terminate()
    await isFree()
    expect(released).toHaveLength(1)
  })

  it('that the upstream rejects holds no slot', async () => {
    await start({ webSocket: true })
    upstream.server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'))
    const client = new WebSocket(gateway.url.replace('http', 'ws'))
    await once(client, 'error')
    await isFree()
    expect(released).toHaveLength(1)
  })
})

describe('over HTTP/2', () => {
  it('each stream holds a slot until it ends or is reset', async () => {
    const { key, cert } = makeCertificate()
    await start({}, { tls: { key, cert, http2: true } })
    const session = connect(gateway.url, { ca: cert })
    try {
      const streams = ['/ended', '/reset'].map((path) => session.request({ ':path': path }))
      for (const stream of streams) stream.on('error', () => {}).resume()
      await until('the upstream has both requests', () => pending.length === 2)
      expect(free()).toBe(0)
      const third = session.request({ ':path': '/third' })
      const [head] = await once(third, 'response')
      expect(head[':status']).toBe(429)
      third.resume()
      pending.find(({ request }) => request.url === '/ended')!.response.end('done')
      await until('the slot of the response that has ended is free', () => free() === 1)
      streams[1]!.close()
      await isFree()
      expect(released).toHaveLength(2)
    } finally {
      session.destroy()
    }
  })

  it('a lost connection frees the slots of all its streams', async () => {
    const { key, cert } = makeCertificate()
    await start({}, { tls: { key, cert, http2: true } })
    const session = connect(gateway.url, { ca: cert })
    session.on('error', () => {})
    for (const path of ['/a', '/b']) session.request({ ':path': path }).on('error', () => {})
    await until('the upstream has both requests', () => pending.length === 2)
    expect(free()).toBe(0)
    session.destroy()
    await isFree()
  })
})

describe('several limits of one route', () => {
  const rate = fixedWindow({ limit: 3, window: '366d', name: 'rate' })

  it('are all or nothing: a denied request takes neither units nor slots', async () => {
    await start({ limiter: limiterBy(rate, slots) })
    await inFlight(2)
    expect([free(rate), free()]).toStrictEqual([1, 0])
    expect((await fetch(gateway.url)).status).toBe(429)
    expect(free(rate)).toBe(1)
    for (const { response } of pending) response.end()
    await isFree()
    await inFlight(1)
    expect([free(rate), free()]).toStrictEqual([0, 1])
    expect((await fetch(gateway.url)).status).toBe(429)
    expect(free()).toBe(1)
  })
})
