import { once } from 'node:events'
import { connect, createServer as createNetServer, type Socket } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import {
  countsIn,
  gatewayTo,
  listening,
  rawUpstream,
  type TestGateway,
  type TestUpstream,
  upstreamOf,
} from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'

let gateway: TestGateway
let upstream: TestUpstream

afterEach(async () => {
  await gateway?.close()
  await upstream?.close()
})

const HANDSHAKE =
  'GET /chat HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** An upstream that echoes messages. */
async function echo(): Promise<TestUpstream> {
  const started = await upstreamOf((_request, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({ server: started.server })
  sockets.on('connection', (socket, request) => {
    socket.send(`${request.url} ${request.headers['x-forwarded-for']}`)
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  return started
}

describe('a WebSocket', () => {
  it('is forwarded in both directions, and closed when either side closes', async () => {
    upstream = await echo()
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/chat//x?y=1`)
    const [first] = await once(socket, 'message')
    expect(String(first)).toBe('/chat/x?y=1 127.0.0.1')
    const large = Buffer.alloc(5 * 1024 * 1024, 7)
    socket.send(large)
    const [back] = await once(socket, 'message')
    expect(Buffer.compare(back as Buffer, large)).toBe(0)
    socket.close(4000, 'enough')
    const [code] = await once(socket, 'close')
    expect(code).toBe(4000)
    await until('the connection to the upstream is closed', () => upstream.sockets.size === 0)
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual(['route="all",status="1xx" 1'])
  })

  it('is rejected with 403 if its route does not allow WebSockets', async () => {
    upstream = await echo()
    gateway = await gatewayTo({ upstreams: [upstream.url] })
    expect(statusOf(await sendRaw(gateway.url, HANDSHAKE, false))).toBe(403)
    expect(upstream.sockets.size).toBe(0)
  })

  it('is counted before it is forwarded', async () => {
    upstream = await echo()
    gateway = await gatewayTo({
      upstreams: [upstream.url],
      webSocket: true,
      limiter: () => ({
        denial: { status: 429, contentType: 'application/json', body: '{}' },
        headers: { 'retry-after': '3' },
        holdMs: 0,
      }),
    })
    const answer = await sendRaw(gateway.url, HANDSHAKE, false)
    expect(statusOf(answer)).toBe(429)
    expect(answer).toMatch(/\r\nretry-after: 3\r\n/)
    expect(upstream.sockets.size).toBe(0)
  })

  it.each([
    ['HTTP/1.1 426 Upgrade Required\r\ncontent-length: 2\r\n\r\nno', 426],
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno', 200],
    ['HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: evil\r\n\r\n', 502],
  ])('does not become a tunnel if the upstream responds with %j: %d', async (raw, status) => {
    const bad = await rawUpstream(raw)
    upstream = bad
    gateway = await gatewayTo({ upstreams: [bad.url], webSocket: true })
    // A second request after the first must never reach the upstream unchecked.
    const answer = await sendRaw(gateway.url, `${HANDSHAKE}GET /admin HTTP/1.1\r\nhost: a\r\n\r\n`, false)
    expect(statusOf(answer)).toBe(status)
    expect(answer.split('HTTP/1.1 ').length).toBe(2)
    expect(bad.received.join()).not.toContain('/admin')
    await until('no connection to it is kept', () => bad.sockets.size === 0)
  })

  it('that the upstream rejects leaves no open connection', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    upstream.server.keepAliveTimeout = 60_000
    upstream.server.on('upgrade', (_request, socket) => {
      socket.resume().on('end', () => socket.end())
      socket.write('HTTP/1.1 426 Upgrade Required\r\ncontent-length: 2\r\n\r\nno')
    })
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    expect(statusOf(await sendRaw(gateway.url, HANDSHAKE, false))).toBe(426)
    await until('the connection to the upstream is closed', () => upstream.sockets.size === 0, {
      timeoutMs: 3000,
    })
  })

  it('with an unreachable upstream gets 502', async () => {
    upstream = await echo()
    const { url } = upstream
    await upstream.close()
    gateway = await gatewayTo({ upstreams: [url], webSocket: true })
    expect(statusOf(await sendRaw(gateway.url, HANDSHAKE, false))).toBe(502)
  })

  it.each<[string, (socket: Socket) => void]>([
    ['ends', (socket) => void socket.end()],
    ['resets', (socket) => void socket.resetAndDestroy()],
  ])('whose client %s the connection before the response is closed at the upstream too', async (_, leave) => {
    const silent = await rawUpstream(() => {})
    upstream = silent
    gateway = await gatewayTo({ upstreams: [silent.url], webSocket: true })
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.write(HANDSHAKE)
    await until('the upstream has it', () => silent.received.length === 1)
    leave(socket)
    await until(
      'the connection to the upstream is closed',
      () => silent.closed() > 0 && silent.sockets.size === 0,
      { timeoutMs: 2500 },
    )
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual(['route="all",status="none" 1'])
  })

  it('beyond the maximum number of connections gets 503, until another closes', async () => {
    upstream = await echo()
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true }, { maxConnections: 2 })
    const url = gateway.url.replace('http', 'ws')
    const sockets = [new WebSocket(url), new WebSocket(url)]
    await Promise.all(sockets.map((socket) => once(socket, 'message')))
    expect(statusOf(await sendRaw(gateway.url, HANDSHAKE, false))).toBe(503)
    expect(upstream.sockets.size).toBe(2)
    // Requests have separate connections.
    expect((await fetch(gateway.url)).status).toBe(404)
    sockets[0]!.close()
    await until('one has closed', () => [...gateway.upstreams()].every(({ tunnels }) => tunnels === 1))
    const another = new WebSocket(url)
    await once(another, 'message')
    for (const socket of [...sockets, another]) socket.terminate()
    await until('none is counted', () => [...gateway.upstreams()].every(({ tunnels }) => tunnels === 0))
  })

  it('has rate limit headers, and status 101 even if a filter sets another', async () => {
    upstream = await rawUpstream(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n',
    )
    gateway = await gatewayTo({
      upstreams: [upstream.url],
      webSocket: true,
      limiter: () => ({ denial: undefined, headers: { 'x-ratelimit-limit': '5' }, holdMs: 0 }),
      responseFilters: [
        (head) => {
          head.status = 401
        },
      ],
    })
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.write(HANDSHAKE)
    const [head] = await once(socket, 'data')
    socket.destroy()
    expect(String(head)).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n/,
    )
    expect(String(head)).toMatch(/\r\nsec-websocket-accept: x\r\nx-ratelimit-limit: 5\r\n\r\n$/)
  })

  /** An upstream that accepts the upgrade, and then calls `act`. */
  async function agreeing(then: (socket: Socket) => void): Promise<TestUpstream> {
    return listening(
      createNetServer({ allowHalfOpen: true }, (socket) => {
        socket.once('data', () => {
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
          )
          then(socket)
        })
      }),
    )
  }

  async function opened(): Promise<Socket> {
    const { hostname, port } = new URL(gateway.url)
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    socket.write(HANDSHAKE)
    await new Promise<void>((resolve) => {
      socket.once('readable', () => {
        socket.read()
        resolve()
      })
    })
    return socket
  }

  it('can be half closed', async () => {
    let received = ''
    upstream = await agreeing((socket) => {
      socket.on('data', (data) => {
        received += data
      })
      // Responds when the client has ended.
      socket.on('end', () => socket.end(`received ${received}`))
    })
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const socket = await opened()
    socket.end('last words')
    let back = ''
    socket.on('data', (data) => {
      back += data
    })
    await once(socket, 'close')
    expect(back).toBe('received last words')
    await until('both connections are closed', () => upstream.sockets.size === 0)
  })

  it('applies backpressure', async () => {
    upstream = await agreeing((socket) => socket.pause())
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const socket = await opened()
    const piece = Buffer.alloc(1024 * 1024)
    for (let i = 0; i < 64; i++) socket.write(piece)
    let before = -1
    await until('no more bytes are accepted', async () => {
      const isStill = socket.writableLength === before
      before = socket.writableLength
      await new Promise((resolve) => setTimeout(resolve, 300))
      return isStill
    })
    // Unread bytes are in the buffers of two connections, and not in the gateway.
    expect(socket.writableLength).toBeGreaterThan(32 * 1024 * 1024)
    socket.destroy()
  })

  it('is destroyed when either side is destroyed', async () => {
    upstream = await agreeing((socket) => void setTimeout(() => socket.resetAndDestroy(), 50))
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const socket = await opened()
    socket.on('error', () => {})
    await once(socket.resume(), 'end')
    expect(socket.readableEnded).toBe(true)
    socket.destroy()
  })

  it('is closed at the stop timeout of the gateway', async () => {
    upstream = await echo()
    gateway = await gatewayTo(
      { upstreams: [upstream.url], webSocket: true },
      {
        limits: {
          maxHeaderBytes: 16_384,
          headersTimeoutMs: 5000,
          requestTimeoutMs: 5000,
          keepAliveTimeoutMs: 5000,
          stopTimeoutMs: 300,
        },
      },
    )
    const socket = new WebSocket(gateway.url.replace('http', 'ws'))
    await once(socket, 'message')
    const closed = once(socket, 'close')
    await gateway.close()
    expect((await closed)[0]).toBe(1006)
    await until('its connection to the upstream is closed too', () => upstream.sockets.size === 0)
  })
})

describe('an upgrade to another protocol', () => {
  const H2C = 'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n'

  it.each([
    ['without a body', `GET / HTTP/1.1\r\nhost: a\r\n${H2C}\r\n`, 'GET /:undefined:'],
    [
      'with a body',
      `POST / HTTP/1.1\r\nhost: a\r\n${H2C}content-length: 5\r\n\r\nhello`,
      'POST /:undefined:hello',
    ],
    [
      'with chunks',
      `POST / HTTP/1.1\r\nhost: a\r\n${H2C}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      'POST /:undefined:hello',
    ],
    [
      'by a method that WebSockets do not have',
      'POST / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncontent-length: 5\r\n\r\nhello',
      'POST /:undefined:hello',
    ],
  ])('is ignored, and handled as a request, %s', async (_what, raw, expected) => {
    upstream = await upstreamOf(async (request, response) => {
      let body = ''
      for await (const piece of request) body += piece
      response.end(`${request.method} ${request.url}:${request.headers.upgrade}:${body}`)
    })
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    const ends: string[] = []
    // A second request on the same connection: the end of the first was parsed.
    for (const text of [raw, 'GET /next HTTP/1.1\r\nhost: a\r\n\r\n']) {
      socket.write(text)
      const [answer] = await once(socket, 'data')
      ends.push(String(answer).split('\r\n\r\n')[1]!)
    }
    socket.destroy()
    expect(ends).toStrictEqual([expected, 'GET /next:undefined:'])
  })
})

describe('an upgrade with a body', () => {
  it('is rejected with 400', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    gateway = await gatewayTo({ upstreams: [upstream.url], webSocket: true })
    const answer = await sendRaw(
      gateway.url,
      'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncontent-length: 5\r\n\r\nhello',
      false,
    )
    expect(statusOf(answer)).toBe(400)
    expect(upstream.sockets.size).toBe(0)
  })
})
