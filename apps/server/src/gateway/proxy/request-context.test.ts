import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import {
  countsIn,
  gatewayTo,
  LIMITS,
  routingOf,
  type TestGateway,
  type TestUpstream,
  upstreamOf,
} from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import type { RouteDecision } from '../route.js'

let gateway: TestGateway
const upstreams: TestUpstream[] = []

afterEach(async () => {
  await gateway?.close()
  for (const upstream of upstreams.splice(0)) await upstream.close()
})

async function upstreamThat(...args: Parameters<typeof upstreamOf>): Promise<TestUpstream> {
  const upstream = await upstreamOf(...args)
  upstreams.push(upstream)
  return upstream
}

const pass = (holdMs = 0): RouteDecision => ({ denial: undefined, headers: {}, holdMs })

describe('a limit', () => {
  it('denies with its response, without a request to the upstream', async () => {
    const upstream = await upstreamThat((_request, response) => response.end())
    gateway = await gatewayTo({
      upstreams: [upstream.url],
      limiter: async () => ({
        denial: { status: 429, contentType: 'application/json', body: '{"error":"rate_limit_exceeded"}' },
        headers: { 'retry-after': '60', 'x-ratelimit-limit': '5' },
        holdMs: 0,
      }),
    })
    const response = await fetch(gateway.url, { method: 'POST', body: 'x'.repeat(100_000) })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('60')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toStrictEqual({ error: 'rate_limit_exceeded' })
    expect(upstream.sockets.size).toBe(0)
  })

  it('that throws results in 500 and a log line', async () => {
    const upstream = await upstreamThat((_request, response) => response.end())
    gateway = await gatewayTo([
      {
        id: 'now',
        upstreams: [upstream.url],
        limiter: () => {
          throw new Error('at once')
        },
      },
      {
        id: 'later',
        upstreams: [upstream.url],
        limiter: async () => {
          throw new Error('later')
        },
      },
    ])
    expect((await fetch(`${gateway.url}/now`)).status).toBe(500)
    expect((await fetch(`${gateway.url}/later`)).status).toBe(500)
    expect(gateway.logged.map(({ err }) => (err as Error).message)).toStrictEqual(['at once', 'later'])
  })

  it('with a queue releases requests one after another', async () => {
    const times: number[] = []
    const upstream = await upstreamThat((_request, response) => {
      times.push(performance.now())
      response.end()
    })
    const due: number[] = []
    let next = 0
    gateway = await gatewayTo({
      upstreams: [upstream.url],
      limiter: () => {
        const now = performance.now()
        next = Math.max(now, next) + 100
        due.push(next)
        return pass(next - now)
      },
    })
    await Promise.all(Array.from({ length: 8 }, () => fetch(gateway.url)))
    expect(times).toHaveLength(8)
    // A busy machine may release one late, but none early.
    for (const [i, time] of times.entries()) expect(time).toBeGreaterThan(due[i]! - 5)
    expect(due.at(-1)! - due[0]!).toBeGreaterThan(690)
  })

  it('does not release a held request whose client has disconnected', async () => {
    const received: (string | undefined)[] = []
    const upstream = await upstreamThat((request, response) => {
      received.push(request.url)
      response.end()
    })
    gateway = await gatewayTo({ upstreams: [upstream.url], limiter: () => pass(500) })
    const leaving = new AbortController()
    const left = fetch(`${gateway.url}/left`, { signal: leaving.signal })
    const stayed = fetch(`${gateway.url}/stayed`)
    await until('both are held', async () =>
      /^gateway_connections 2$/m.test(await gateway.registry.metrics()),
    )
    leaving.abort()
    await expect(left).rejects.toThrow()
    await stayed
    // Held later than the two requests before, so both would have been released by now.
    await fetch(`${gateway.url}/last`)
    expect(received).toStrictEqual(['/stayed', '/last'])
  })

  it('reads the client address through trusted proxies', async () => {
    const upstream = await upstreamThat((_request, response) => response.end())
    const seen: (string | undefined)[] = []
    const limit = (request: { ip?: string | undefined }) => {
      seen.push(request.ip)
      return pass()
    }
    gateway = await gatewayTo(
      { upstreams: [upstream.url], limiter: limit },
      { proxies: { trusted: ['127.0.0.1'] } },
    )
    await fetch(gateway.url, { headers: { 'x-forwarded-for': '6.6.6.6, 192.0.2.7' } })
    await fetch(gateway.url, { headers: { 'x-forwarded-for': '2001:db8::1' } })
    expect(seen).toStrictEqual(['192.0.2.7', '2001:db8::/64'])
  })
})

describe('a route that responds without an upstream', () => {
  it('responds once its limits allow the request', async () => {
    gateway = await gatewayTo({
      fixedResponse: { status: 308, headers: { location: 'https://example.com/' } },
      limiter: () => ({ denial: undefined, headers: { 'x-ratelimit-limit': '9' }, holdMs: 0 }),
    })
    const response = await fetch(gateway.url, { redirect: 'manual' })
    expect(response.status).toBe(308)
    expect(response.headers.get('location')).toBe('https://example.com/')
    expect(response.headers.get('x-ratelimit-limit')).toBe('9')
  })

  it('has the headers of filters, and its own status', async () => {
    gateway = await gatewayTo({
      fixedResponse: { status: 401, headers: { location: '/there' } },
      responseFilters: [
        (head) => {
          head.status = 200
          head.headers.set('cache-control', 'private').set('www-authenticate', ['Basic', 'Bearer'])
          head.headers.delete('location')
        },
      ],
    })
    const { status, headers } = await fetch(gateway.url)
    const values = ['location', 'www-authenticate', 'cache-control'].map((name) => headers.get(name))
    expect([status, ...values]).toStrictEqual([401, null, 'Basic, Bearer', 'private'])
  })

  it.each([204, 304])('with status %d has no Content-Length', async (status) => {
    gateway = await gatewayTo({ fixedResponse: { status, headers: {} } })
    const response = await fetch(gateway.url)
    expect(response.status).toBe(status)
    expect(response.headers.get('content-length')).toBe(null)
  })
})

describe('metrics', () => {
  it('count requests by route and status class, and never by input of clients', async () => {
    const upstream = await upstreamThat((request, response) => {
      response.writeHead(request.url === '/a/teapot' ? 418 : 200).end()
    })
    gateway = await gatewayTo({ id: 'a', upstreams: [upstream.url] })
    const before = (await gateway.registry.metrics()).split('\n').length
    await Promise.all(['/a', '/a/1', '/a/teapot', '/x', '/y'].map((path) => fetch(gateway.url + path)))
    await sendRaw(gateway.url, 'FLOOD /a HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(
      'all are counted',
      async () => (await countsIn(gateway, 'gateway_requests_total')).length === 3,
    )
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual([
      'route="",status="4xx" 2',
      'route="a",status="2xx" 2',
      'route="a",status="4xx" 1',
    ])
    expect((await gateway.registry.metrics()).split('\n').length).toBe(before)
    expect(await countsIn(gateway, 'gateway_request_seconds_count')).toStrictEqual([
      'route="" 2',
      'route="a" 3',
    ])
  })
})

describe('the access log', () => {
  it('has one line of JSON for each request', async () => {
    const lines: string[] = []
    const upstream = await upstreamThat((_request, response) => response.end('hello'))
    gateway = await gatewayTo(
      { id: 'a', upstreams: [upstream.url] },
      { accessLog: { form: 'json', write: (line) => void lines.push(line) } },
    )
    await sendRaw(
      gateway.url,
      Buffer.from(
        `GET /a/b?secret=1 HTTP/1.1\r\nhost: a\r\nx-request-id: id-1\r\nuser-agent: a"b\\c\x80é\t\r\n\r\n`,
        'latin1',
      ),
    )
    await sendRaw(gateway.url, 'GET /none HTTP/1.1\r\nhost: a\r\n\r\n')
    await until('both are written', () => lines.length === 2)
    expect(lines.join('')).not.toContain('secret')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none
    for (const line of lines) expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f]+\n$/)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        id: 'id-1',
        address: '127.0.0.1',
        method: 'GET',
        path: '/a/b',
        protocol: 'HTTP/1.1',
        route: 'a',
        status: 200,
        bytes: 5,
        userAgent: 'a"b\\c\u0080é',
      },
      { path: '/none', status: 404 },
    ])
  })

  it('has the combined form', async () => {
    const lines: string[] = []
    const upstream = await upstreamThat((_request, response) => response.end('hello'))
    gateway = await gatewayTo(
      { upstreams: [upstream.url] },
      { accessLog: { form: 'combined', write: (line) => void lines.push(line) } },
    )
    await sendRaw(
      gateway.url,
      Buffer.from(
        'GET /a"b HTTP/1.1\r\nhost: a\r\nreferer: http://r/\r\nuser-agent: a"b\\c\x80\r\n\r\n',
        'latin1',
      ),
    )
    await until('it is written', () => lines.length === 1)
    expect(lines[0]).toMatch(
      /^127\.0\.0\.1 - - \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/a\\x22b HTTP\/1\.1" 200 5 "http:\/\/r\/" "a\\x22b\\x5cc\\x80"\n$/,
    )
  })
})

describe('a reload of the routes', () => {
  it('applies to new requests, and not to those in flight', async () => {
    let release = () => {}
    const old = await upstreamThat((_request, response) => {
      release = () => response.end('old')
    })
    const young = await upstreamThat((_request, response) => response.end('new'))
    gateway = await gatewayTo({ upstreams: [old.url] })
    const begun = fetch(gateway.url)
    await until('the old one has it', () => old.sockets.size === 1)
    gateway.use(routingOf({ upstreams: [young.url] }))
    expect(await (await fetch(gateway.url)).text()).toBe('new')
    expect([...gateway.upstreams()].map(({ origin }) => origin)).toStrictEqual([old.url, young.url])
    release()
    expect(await (await begun).text()).toBe('old')
    await until('no connection to the old one is kept', () => old.sockets.size === 0)
    expect([...gateway.upstreams()].map(({ origin }) => origin)).toStrictEqual([young.url])
  })

  it('keeps connections and counts of unchanged routes', async () => {
    const upstream = await upstreamThat((_request, response) => response.end())
    gateway = await gatewayTo({ id: 'a', upstreams: [upstream.url] })
    const ports = new Set<number | undefined>()
    upstream.server.on('request', (request) => ports.add(request.socket.remotePort))
    for (let i = 0; i < 3; i++) {
      expect((await fetch(`${gateway.url}/a`)).status).toBe(200)
      gateway.use(routingOf([{ id: 'a', upstreams: [upstream.url] }, { id: 'b' }]))
    }
    expect(ports.size).toBe(1)
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual(['route="a",status="2xx" 3'])
  })
})

it('routes to one upstream share connections if their connect timeouts are equal', async () => {
  const upstream = await upstreamThat((_request, response) => response.end())
  const to = (id: string, connectMs: number) => ({
    id,
    upstreams: [upstream.url],
    timeouts: { connectMs, headersMs: 1000, bodyMs: 1000 },
  })
  gateway = await gatewayTo([to('a', 1000), to('b', 1000), to('c', 2000)])
  expect([...gateway.upstreams()]).toHaveLength(2)
})

describe('a gateway that stops', () => {
  it('finishes requests in flight, accepts no connections, and closes idle ones', async () => {
    const upstream = await upstreamThat(
      (_request, response) => void setTimeout(() => response.end('done'), 500),
    )
    gateway = await gatewayTo({ upstreams: [upstream.url] })
    const { hostname, port } = new URL(gateway.url)
    const idle = connect(Number(port), hostname)
    await once(idle, 'connect')
    const begun = Array.from({ length: 20 }, async () => (await fetch(gateway.url)).text())
    await until('all have begun', () => upstream.sockets.size === 20)
    const start = performance.now()
    const closed = once(idle.resume(), 'close')
    await gateway.close()
    expect(await Promise.all(begun)).toStrictEqual(Array(20).fill('done'))
    await closed
    expect(performance.now() - start).toBeLessThan(4000)
    await expect(fetch(gateway.url)).rejects.toThrow()
    await until('no connection to an upstream is kept', () => upstream.sockets.size === 0)
  })

  it('waits no longer than its stop timeout', async () => {
    const upstream = await upstreamThat(() => {})
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { limits: { ...LIMITS, stopTimeoutMs: 300 } })
    const begun = fetch(gateway.url)
    begun.catch(() => {})
    await until('it has begun', () => upstream.sockets.size === 1)
    const start = performance.now()
    await gateway.close()
    expect(performance.now() - start).toBeLessThan(4000)
    await expect(begun).rejects.toThrow()
    await until('no connection to an upstream is kept', () => upstream.sockets.size === 0)
  })
})

describe('slow headers', () => {
  it('time out, unlike a slow body', async () => {
    const upstream = await upstreamThat((request, response) => {
      request.on('end', () => response.end('all of it'))
      request.resume()
    })
    gateway = await gatewayTo({ upstreams: [upstream.url] }, { limits: { ...LIMITS, headersTimeoutMs: 300 } })
    const slow = await sendRaw(gateway.url, 'GET / HTTP/1.1\r\nhost: a\r\n', false)
    expect(statusOf(slow)).toBe(408)
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.write('POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 10\r\n\r\n')
    for (let i = 0; i < 10; i++) {
      socket.write('x')
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    let answer = ''
    for await (const piece of socket) answer += piece
    expect(answer).toMatch(/all of it$/)
  })
})
