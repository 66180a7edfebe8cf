import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  countsIn,
  gatewayTo,
  LIMITS,
  rawUpstream,
  type TestGateway,
  type TestUpstream,
  upstreamOf,
} from '../../../test/gateway.js'
import { statusOf } from '../../../test/raw-http.js'
import type { ResponseHead } from '../route.js'
import { createGatewayServer } from './gateway-server.js'

let certificate: { key: string; cert: string }
let upstream: TestUpstream
let gateway: TestGateway
let session: ClientHttp2Session | undefined

beforeAll(() => {
  certificate = makeCertificate()
})

afterEach(async () => {
  session?.destroy()
  session = undefined
  await gateway.close()
  await upstream.close()
})

interface Answer {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly trailers: IncomingHttpHeaders
}

async function ask(headers: Record<string, string>, body?: Buffer): Promise<Answer> {
  session ??= connect(gateway.url, { ca: certificate.cert, maxSessionMemory: 200 })
  const stream = session.request({ ':path': '/', ...headers }, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  let trailers: IncomingHttpHeaders = {}
  stream.on('trailers', (sent) => {
    trailers = sent
  })
  const [answered] = await once(stream, 'response')
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece)
  return { headers: answered, body: Buffer.concat(pieces), trailers }
}

/** Every header name that Node knows, without those of the framing. */
const NAMES = Object.entries(constants)
  .filter(([key, name]) => key.startsWith('HTTP2_HEADER_') && /^[a-z]/.test(String(name)))
  .map(([, name]) => String(name))
  .filter((name) => name !== 'content-length' && name !== 'transfer-encoding')

const withHttp2 = () => ({ tls: { ...certificate, http2: true } })

describe('HTTP/2', () => {
  it('a request is forwarded to an HTTP/1.1 upstream', async () => {
    upstream = await upstreamOf((request, response) => {
      const { host, via, cookie, 'x-forwarded-proto': proto, 'x-forwarded-host': forwarded } = request.headers
      response.setHeader('set-cookie', ['a=1', 'b=2'])
      response.setHeader('x-seen', JSON.stringify({ url: request.url, host, via, cookie, proto, forwarded }))
      response.end('hello')
    })
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const { headers, body } = await ask({ ':path': '/a//b?c', cookie: 'x=1' })
    expect(headers[':status']).toBe(200)
    expect(headers['set-cookie']).toStrictEqual(['a=1', 'b=2'])
    expect(body.toString()).toBe('hello')
    expect(JSON.parse(String(headers['x-seen']))).toStrictEqual({
      url: '/a/b?c',
      host: new URL(upstream.url).host,
      via: '2 tidegate',
      cookie: 'x=1',
      proto: 'https',
      forwarded: new URL(gateway.url).host,
    })
  })

  it.each(['post', 'Get', 'trace', 'NONSENSE'])(
    'the method %s is rejected, as in HTTP/1.1',
    async (method) => {
      // Not Node's, which takes no other methods either.
      const raw = await rawUpstream('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      upstream = raw
      gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
      expect((await ask({ ':method': method })).headers[':status']).toBe(400)
      expect(raw.received).toStrictEqual([])
    },
  )

  it('concurrent bodies are forwarded unchanged in both directions', async () => {
    upstream = await upstreamOf((request, response) => void request.pipe(response))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const body = Buffer.alloc(2 * 1024 * 1024, 'tidegate')
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask({ ':method': 'POST' }, body)))
    const hash = (data: Buffer) => createHash('sha256').update(data).digest('hex')
    for (const answer of answers) expect(hash(answer.body)).toBe(hash(body))
  })

  it('a repeated header is sent once if it may occur once, and a list in one line', async () => {
    upstream = await rawUpstream(
      'HTTP/1.1 200 OK\r\nx-content-type-options: nosniff\r\nX-Content-Type-Options: nosniff\r\netag: "a"\r\netag: "b"\r\ncontent-encoding: gzip\r\ncontent-encoding: br\r\nx-a: 1\r\nx-a: 2\r\nhttp2-settings: x\r\ncontent-length: 2\r\n\r\nok',
    )
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const { headers, body } = await ask({})
    expect(headers).toMatchObject({
      ':status': 200,
      'x-content-type-options': 'nosniff',
      etag: '"a"',
      'content-encoding': 'gzip, br',
      'x-a': '1, 2',
    })
    expect(headers).not.toHaveProperty('http2-settings')
    expect(body.toString()).toBe('ok')
  })

  it('any repeated response header is forwarded', async () => {
    const twice = NAMES.map((name) => `${name}: 1\r\n${name}: 1\r\n`).join('')
    upstream = await rawUpstream(`HTTP/1.1 200 OK\r\n${twice}content-length: 0\r\n\r\n`)
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    expect((await ask({})).headers[':status']).toBe(200)
  })

  it('a response that cannot be forwarded is 502, without any part of it', async () => {
    upstream = await rawUpstream('HTTP/1.1 200 OK\r\netag: "a"\r\ncontent-length: 2\r\n\r\nok')
    const spoil = ({ headers }: ResponseHead) => void headers.set(':bad', '1')
    gateway = await gatewayTo({ upstreams: [upstream.url], responseFilters: [spoil] }, withHttp2())
    const { headers } = await ask({})
    expect(headers[':status']).toBe(502)
    expect(headers).not.toHaveProperty('etag')
  })

  it('trailers are forwarded', async () => {
    upstream = await rawUpstream(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: grpc-status\r\n\r\n2\r\nok\r\n0\r\ngrpc-status: 0\r\nserver-timing: a\r\nserver-timing: b\r\n\r\n',
    )
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const { trailers, body } = await ask({ te: 'trailers' })
    expect(body.toString()).toBe('ok')
    expect(trailers).toMatchObject({ 'grpc-status': '0', 'server-timing': 'a, b' })
  })

  it('limits apply, and errors have a body', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    gateway = await gatewayTo(
      {
        id: 'here',
        upstreams: [upstream.url],
        limiter: () => ({
          denial: { status: 429, contentType: 'application/json', body: '{"error":"x"}' },
          headers: { 'retry-after': '7' },
          holdMs: 0,
        }),
      },
      withHttp2(),
    )
    const denied = await ask({ ':path': '/here', ':method': 'POST' }, Buffer.alloc(100_000))
    expect(denied.headers).toMatchObject({ ':status': 429, 'retry-after': '7' })
    expect(denied.body.toString()).toBe('{"error":"x"}')
    expect((await ask({ ':path': '/there' })).headers[':status']).toBe(404)
    expect((await ask({ ':path': '/a%2fb' })).headers[':status']).toBe(400)
    expect((await ask({ ':path': '/here', ':authority': 'one', host: 'other' })).headers[':status']).toBe(400)
  })

  it('a response that a filter changed to 204 has no body, and its connection stays open', async () => {
    upstream = await upstreamOf((_request, response) => response.end('x'.repeat(200_000)))
    const toNoContent = (head: { status: number }) => {
      head.status = 204
    }
    gateway = await gatewayTo({ upstreams: [upstream.url], responseFilters: [toNoContent] }, withHttp2())
    for (let i = 0; i < 2; i++) {
      const { headers, body } = await ask({ ':path': '/' })
      expect([headers[':status'], headers['content-length'], body.length]).toStrictEqual([204, undefined, 0])
    }
    expect(gateway.logged).toStrictEqual([])
  })

  it('an incomplete response is reset, and its connection stays open', async () => {
    upstream = await rawUpstream((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello')
      setTimeout(() => socket.destroy(), 50)
    })
    gateway = await gatewayTo({ id: 'bad', upstreams: [upstream.url] }, withHttp2())
    await expect(ask({ ':path': '/bad' })).rejects.toThrow()
    expect((await ask({ ':path': '/none' })).headers[':status']).toBe(404)
  })

  it('a request that the client cancels is cancelled at the upstream', async () => {
    const silent = await rawUpstream(() => {})
    upstream = silent
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    session = connect(gateway.url, { ca: certificate.cert })
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await until('the upstream has it', () => silent.received.length === 1)
    stream.close(8)
    await until('the connection to the upstream is closed', () => silent.closed() === 1)
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual(['route="all",status="none" 1'])
  })

  it('a client that does not read its response does not occupy the connection to the upstream', async () => {
    upstream = await upstreamOf((_request, response) => response.end(Buffer.alloc(50 * 1024 * 1024)))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { ...withHttp2(), bodyIdleMs: 200 })
    session = connect(gateway.url, { ca: certificate.cert })
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await until('the connection to the upstream is closed', () => upstream.closed() === 1)
  })

  it('the total size of headers is limited, for any number of headers', async () => {
    upstream = await upstreamOf((request, response) => response.end(String(request.headers['x-199'])))
    const limits = { ...LIMITS, maxHeaderBytes: 2048 }
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { ...withHttp2(), limits })
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'y']))
    expect((await ask(many)).body.toString()).toBe('y')
    expect((await ask({ 'x-large': 'a'.repeat(1500) })).headers[':status']).toBe(200)
    for (const large of [{ 'x-large': 'a'.repeat(2048) }, { ':path': `/${'a'.repeat(2048)}` }]) {
      const { headers, body } = await ask(large)
      expect(headers[':status']).toBe(431)
      expect(JSON.parse(body.toString()).error).toBe('request_header_fields_too_large')
    }
  })

  it('a gateway that stops finishes requests in flight, and closes connections', async () => {
    upstream = await upstreamOf((_request, response) => void setTimeout(() => response.end('late'), 300))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const answer = ask({})
    await until('the upstream has it', () => upstream.sockets.size === 1)
    const closed = once(session!, 'close')
    await gateway.close()
    expect((await answer).body.toString()).toBe('late')
    await closed
  })

  it('a gateway that stops serves a new connection, and waits only briefly for its first request', async () => {
    upstream = await upstreamOf((_request, response) => response.end('ok'))
    gateway = await gatewayTo({ upstreams: [upstream.url] }, withHttp2())
    const { hostname, port } = new URL(gateway.url)
    const early = connectTcp(Number(port), hostname)
    await once(early, 'connect')
    // After this response the other connection has been accepted too.
    await ask({})
    session!.destroy()
    const startMs = performance.now()
    const stopped = gateway.close()
    const secure = connectTls({ socket: early, ca: certificate.cert, ALPNProtocols: ['h2'] })
    session = connect(gateway.url, { createConnection: () => secure })
    expect((await ask({})).body.toString()).toBe('ok')
    await stopped
    expect(performance.now() - startMs).toBeLessThan(LIMITS.stopTimeoutMs - 1000)
  })
})

describe('TLS and HTTP/1.1', () => {
  it.each([true, false])('a request is forwarded, with HTTP/2 enabled: %s', async (http2) => {
    upstream = await upstreamOf((request, response) =>
      response.end(String(request.headers['x-forwarded-proto'])),
    )
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { tls: { ...certificate, http2 } })
    const request = httpsRequest(gateway.url, { ca: certificate.cert, agent: false })
    request.end()
    const [response] = await once(request, 'response')
    let body = ''
    for await (const piece of response) body += piece
    expect(body).toBe('https')
    expect(response.httpVersion).toBe('1.1')
  })

  it.each([true, false])('limits apply, with HTTP/2 enabled: %s', async (http2) => {
    upstream = await upstreamOf((_request, response) => response.end())
    const limits = { ...LIMITS, maxHeaderBytes: 2048, headersTimeoutMs: 300, keepAliveTimeoutMs: 300 }
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { tls: { ...certificate, http2 }, limits })
    const head = 'GET / HTTP/1.1\r\nhost: a\r\n'
    const [large, slow, idle] = await Promise.all([
      sent(`${head}x-large: ${'a'.repeat(3000)}\r\n\r\n`),
      sent(head),
      sent(`${head}\r\n`),
    ])
    expect([large, slow, idle].map(statusOf)).toStrictEqual([431, 408, 200])
    // Bodies have no timeout. The default of Node is five minutes.
    const server = createGatewayServer({ limits, tls: { ...certificate, http2 } }, () => {})
    expect(server.requestTimeout).toBe(0)
  })
})

/** Everything that is received on an HTTP/1.1 connection until the gateway closes it. */
async function sent(text: string): Promise<string> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connectTls({ host: hostname, port: Number(port), ca: certificate.cert })
  socket.write(text)
  let answer = ''
  for await (const piece of socket) answer += piece
  return answer
}
