import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  countsIn,
  gatewayTo,
  LIMITS,
  type TestGateway,
  type TestUpstream,
  upstreamOf,
} from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'

let certificate: { key: string; cert: string }
let upstream: TestUpstream
let gateway: TestGateway
const sockets: Socket[] = []
let session: ClientHttp2Session | undefined

beforeAll(() => {
  certificate = makeCertificate()
})

afterEach(async () => {
  session?.destroy()
  for (const socket of sockets.splice(0)) socket.destroy()
  await gateway.close()
  await upstream.close()
})

function open(text: string, from = '127.0.0.1'): Socket {
  const { hostname: host, port } = new URL(gateway.url)
  const socket = connect({ host, port: Number(port), localAddress: from })
  sockets.push(socket)
  socket.on('error', () => {}).write(text)
  return socket
}

/** Reads the whole body before it responds. */
const echoLength = () =>
  upstreamOf((request, response) => {
    let bytes = 0
    request.on('data', (chunk) => {
      bytes += chunk.length
    })
    request.on('error', () => {})
    request.on('end', () => response.end(String(bytes)))
  })

const head = (length: number) => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`

describe('slow request bodies', () => {
  it.each([
    ['no byte of the body', ''],
    ['one byte of the body', 'x'],
  ])('do not block other requests: 40 clients that send %s', async (_title, part) => {
    upstream = await echoLength()
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { maxConnections: 4 })
    for (let i = 0; i < 40; i++) open(head(1000) + part)
    await until('the gateway has all connections', async () => (await openConnections()) === '40')
    // Half of the connections may wait for bodies.
    if (part !== '') await until('bodies have half of the connections', () => upstream.sockets.size === 2)
    else {
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect(upstream.sockets.size).toBe(0)
    }
    const startMs = performance.now()
    for (let i = 0; i < 10; i++) {
      expect(await (await fetch(gateway.url)).text()).toBe('0')
      expect(await (await fetch(gateway.url, { method: 'POST', body: 'hello' })).text()).toBe('5')
    }
    expect(performance.now() - startMs).toBeLessThan(5000)
    expect(upstream.sockets.size).toBeLessThanOrEqual(4)
  })

  it('take no connection before their first byte', async () => {
    upstream = await echoLength()
    gateway = await gatewayTo({ upstreams: [upstream.url] })
    const socket = open(head(2))
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(upstream.sockets.size).toBe(0)
    socket.write('ab')
    expect(String((await once(socket, 'data'))[0])).toContain('\r\n\r\n2')
  })

  it('wait for a connection in turn, and are sent once they are complete', async () => {
    upstream = await echoLength()
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { maxConnections: 2 })
    const first = open(`${head(3)}a`)
    const second = open(`${head(3)}a`)
    const third = open(`${head(3)}a`)
    await until('a body has a connection', () => upstream.sockets.size > 0)
    // Long enough for another connection, which must not be opened: half of the connections may wait for bodies.
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(upstream.sockets.size).toBe(1)
    second.write('bc')
    expect(String((await once(second, 'data'))[0])).toContain('\r\n\r\n3')
    first.write('bc')
    expect(String((await once(first, 'data'))[0])).toContain('\r\n\r\n3')
    third.write('bc')
    expect(String((await once(third, 'data'))[0])).toContain('\r\n\r\n3')
  })

  it('are rejected with 503 if they wait too long for a connection', async () => {
    upstream = await echoLength()
    const timeouts = { connectMs: 5000, headersMs: 300, bodyMs: 5000 }
    gateway = await gatewayTo({ upstreams: [upstream.url], timeouts }, { maxConnections: 1 })
    open(`${head(3)}a`)
    await until('the first body has the connection', () => upstream.sockets.size === 1)
    expect(statusOf(await sendRaw(gateway.url, `${head(3)}a`))).toBe(503)
  })

  it('leave the queue when the client disconnects', async () => {
    upstream = await echoLength()
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { maxConnections: 2 })
    const first = open(`${head(3)}a`)
    await until('the first body has the connection', () => upstream.sockets.size === 1)
    const waiting = open(`${head(3)}a`)
    await new Promise((resolve) => setTimeout(resolve, 100))
    waiting.destroy()
    first.destroy()
    const large = 'x'.repeat(300_000)
    expect(await (await fetch(gateway.url, { method: 'POST', body: large })).text()).toBe('300000')
  })
})

describe('a client that does not read its response', () => {
  const body = 'x'.repeat(100)

  it('loses its HTTP/2 stream, but not other streams of the connection', async () => {
    upstream = await upstreamOf((_request, response) => response.end(body))
    const tls = { ...certificate, http2: true }
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { tls, bodyIdleMs: 300 })
    session = connectHttp2(gateway.url, { ca: certificate.cert, settings: { initialWindowSize: 0 } })
    const streams = Array.from({ length: 20 }, () => session!.request({ ':path': '/' }).on('error', () => {}))
    await Promise.all(streams.map(closed))
    expect(session.destroyed).toBe(false)
    const head = session.request({ ':path': '/', ':method': 'HEAD' })
    const [answered] = await once(head, 'response')
    expect(answered[':status']).toBe(200)
  }, 10_000)

  it('loses its HTTP/2 stream also for a response of the gateway itself', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    const tls = { ...certificate, http2: true }
    gateway = await gatewayTo({ id: 'other', upstreams: [upstream.url] }, { tls, bodyIdleMs: 300 })
    session = connectHttp2(gateway.url, { ca: certificate.cert, settings: { initialWindowSize: 0 } })
    const stream = session.request({ ':path': '/' }).on('error', () => {})
    await closed(stream)
    expect(stream.rstCode).not.toBe(0)
  }, 10_000)

  it('loses its HTTP/1.1 connection', async () => {
    upstream = await upstreamOf((_request, response) => response.end(Buffer.alloc(8 * 1024 * 1024)))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { bodyIdleMs: 300 })
    const socket = open('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    socket.pause()
    await until('the gateway has the connection', async () => (await openConnections()) === '1')
    await until('the gateway has dropped the connection', async () => (await openConnections()) === '0')
  }, 10_000)

  it('gets the complete response if it reads slowly', async () => {
    upstream = await upstreamOf((_request, response) => {
      response.write('a')
      setTimeout(() => response.end('b'), 900)
    })
    const tls = { ...certificate, http2: true }
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { tls, bodyIdleMs: 200 })
    session = connectHttp2(gateway.url, { ca: certificate.cert })
    const stream = session.request({ ':path': '/' })
    let text = ''
    for await (const piece of stream) text += piece
    expect(text).toBe('ab')
  })
})

describe('an HTTP/2 connection without streams', () => {
  it('is closed when idle, even if the client sends pings', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    const tls = { ...certificate, http2: true }
    const limits = { ...LIMITS, keepAliveTimeoutMs: 1000 }
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { tls, limits })
    session = connectHttp2(gateway.url, { ca: certificate.cert }).on('error', () => {})
    const client = session
    const pings = setInterval(() => client.destroyed || client.ping(() => {}), 100)
    await once(client.request({ ':path': '/' }).resume(), 'close')
    await once(client, 'close')
    clearInterval(pings)
  }, 10_000)
})

describe('connection limits of the gateway', () => {
  it('leave connections for other clients when one has its share, and are exposed as metrics', async () => {
    upstream = await upstreamOf((_request, response) => response.end('served'))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { connections: { max: 10, maxPerClient: 3 } })
    const get = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
    for (let i = 0; i < 3; i++) await once(open(get), 'data')
    await once(open(get), 'close')
    await once(open(get, '127.0.0.2'), 'data')
    expect(await countsIn(gateway, 'gateway_connections_refused_total')).toStrictEqual([
      'reason="max_per_client" 1',
    ])
    expect(await openConnections()).toBe('4')
    expect(gateway.logged).toMatchObject([{ listener: 'gateway', reason: 'max_per_client', limit: 3 }])
  })

  it('do not apply to trusted proxies', async () => {
    upstream = await upstreamOf((_request, response) => response.end('served'))
    gateway = await gatewayTo(
      { upstreams: [upstream.url] },
      { connections: { max: 10, maxPerClient: 1 }, proxies: { trusted: ['127.0.0.1'] } },
    )
    const get = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
    for (let i = 0; i < 5; i++) await once(open(get), 'data')
    expect(await countsIn(gateway, 'gateway_connections_refused_total')).toStrictEqual([])
  })
})

/** Unlike `once`, does not reject when there is an error before. */
function closed(emitter: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => emitter.once('close', () => resolve()))
}

async function openConnections(): Promise<string | undefined> {
  return /^gateway_connections (\d+)$/m.exec(await gateway.registry.metrics())?.[1]
}
