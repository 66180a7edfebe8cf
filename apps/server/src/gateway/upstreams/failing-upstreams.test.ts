import { once } from 'node:events'
import { connect, createServer as createNetServer, type Socket } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { startFullUpstream } from '../../../test/full-upstream.js'
import {
  countsIn,
  deadUrl,
  gatewayTo,
  listening,
  rawUpstream,
  type TestGateway,
  type TestUpstream,
  upstreamOf,
} from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import type { Route } from '../route.js'
import { defaultRetry } from '../spring/filters/retry.js'
import type { Upstream } from './upstreams.js'

let gateway: TestGateway | undefined
const upstreams: TestUpstream[] = []

afterEach(async () => {
  await gateway?.close()
  for (const upstream of upstreams.splice(0)) await upstream.close()
})

function used<Upstream extends TestUpstream>(upstream: Upstream): Upstream {
  upstreams.push(upstream)
  return upstream
}

const TIMEOUTS = { connectMs: 300, headersMs: 300, bodyMs: 300 }

/** No request is in flight, and none is kept in memory. */
async function expectNoLeak({ upstreams }: TestGateway): Promise<void> {
  const isIdle = ({ inFlight, pool: { stats } }: Upstream) =>
    inFlight === 0 && stats.running === 0 && stats.pending === 0
  await until('nothing is in flight', () => [...upstreams()].every(isIdle))
}

describe('an upstream', () => {
  it.each<[string, (socket: Socket) => void, number, string]>([
    ['closes without a response', (socket) => socket.end(), 502, 'lost'],
    ['resets the connection', (socket) => socket.resetAndDestroy(), 502, 'lost'],
    ['closes in the middle of its headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nx-a'), 502, 'lost'],
    ['sends text that is not HTTP', (socket) => socket.write('hello\r\n\r\n'), 502, 'garbage'],
    ['responds with HTTP/0.9', (socket) => socket.end('<html>'), 502, 'garbage'],
    ['does not respond', () => {}, 504, 'timeout'],
    [
      'stops in the middle of its headers',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: 1'),
      504,
      'timeout',
    ],
    [
      'responds with a length and chunks',
      (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
      502,
      'garbage',
    ],
    [
      'responds with two lengths',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'),
      502,
      'garbage',
    ],
    [
      'responds with NUL in a header',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: a\0b\r\ncontent-length: 0\r\n\r\n'),
      502,
      'garbage',
    ],
    [
      'responds with a bare CR in a header',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: a\rb: c\r\ncontent-length: 0\r\n\r\n'),
      502,
      'garbage',
    ],
    [
      'responds with a space in a header name',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx a: b\r\ncontent-length: 0\r\n\r\n'),
      502,
      'garbage',
    ],
    [
      'responds with endless headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}\r\n\r\n`),
      502,
      'garbage',
    ],
    [
      'responds with an upgrade that was not requested',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: evil\r\n\r\n'),
      502,
      'garbage',
    ],
    [
      'responds with an invalid status',
      (socket) => socket.write('HTTP/1.1 99 Odd\r\ncontent-length: 0\r\n\r\n'),
      502,
      'garbage',
    ],
  ])('that %s', async (_what, act, status, kind) => {
    const bad = used(await rawUpstream((socket) => act(socket)))
    gateway = await gatewayTo({ id: 'bad', upstreams: [bad.url], timeouts: TIMEOUTS })
    const response = await fetch(`${gateway.url}/bad`, {
      headers: { accept: 'application/problem+json', 'x-request-id': 'id-1' },
    })
    expect(response.status).toBe(status)
    expect(response.headers.get('x-request-id')).toBe('id-1')
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({ status, type: 'about:blank', instance: '/bad' })
    expect(await countsIn(gateway, 'gateway_upstream_errors_total')).toStrictEqual([
      `route="bad",kind="${kind}" 1`,
    ])
    await expectNoLeak(gateway)
    await until('no connection to it is kept', () => bad.sockets.size === 0)
  })

  it('on a closed port results in 502, as JSON or as a problem document', async () => {
    gateway = await gatewayTo({ upstreams: [await deadUrl()], timeouts: TIMEOUTS })
    const response = await fetch(gateway.url)
    expect(response.status).toBe(502)
    expect(await response.json()).toStrictEqual({
      error: 'bad_gateway',
      message: 'The upstream is unreachable.',
    })
    await expectNoLeak(gateway)
  })

  it('that is the gateway itself results in 508', async () => {
    const url = await deadUrl()
    gateway = await gatewayTo({ upstreams: [url] }, { port: Number(new URL(url).port) })
    const response = await fetch(gateway.url)
    expect(response.status).toBe(508)
    const counts = async () => (await countsIn(gateway!, 'gateway_requests_total')).join()
    await until(
      'the request has looped four times',
      async () => (await counts()) === 'route="",status="5xx" 1,route="all",status="5xx" 4',
    )
  })

  it('that accepts no connection results in 504', async () => {
    const full = await startFullUpstream()
    try {
      gateway = await gatewayTo({ upstreams: [full.url], timeouts: { ...TIMEOUTS, connectMs: 200 } })
      const response = await fetch(gateway.url)
      expect(response.status).toBe(504)
      expect(await response.json()).toMatchObject({ message: 'The connection to the upstream timed out.' })
      await expectNoLeak(gateway)
    } finally {
      await full.close()
    }
  })

  it.each<[string, string, boolean]>([
    ['a length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello', true],
    ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n', true],
    ['a length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello', false],
  ])(
    'that stops in the middle of a body with %s: the response is incomplete too (%j)',
    async (_what, part, closes) => {
      const bad = used(await rawUpstream((socket) => (closes ? socket.end(part) : socket.write(part))))
      gateway = await gatewayTo({ upstreams: [bad.url], timeouts: TIMEOUTS })
      const answer = await sendRaw(gateway.url, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', false)
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(answer).toContain('hello')
      // The client can tell that the body is incomplete.
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
      await expectNoLeak(gateway)
      await until('no connection to it is kept', () => bad.sockets.size === 0)
    },
  )

  it('that ends its body by closing the connection sends a complete body', async () => {
    const old = used(await rawUpstream((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it')))
    gateway = await gatewayTo({ upstreams: [old.url] })
    expect(await (await fetch(gateway.url)).text()).toBe('all of it')
    await expectNoLeak(gateway)
  })

  it('that responds before it has read the body gets its response delivered', async () => {
    const early = used(
      await listening(
        createNetServer((socket) => {
          socket.once('data', () => {
            socket.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno')
            socket.pause()
          })
        }),
      ),
    )
    gateway = await gatewayTo({ upstreams: [early.url] })
    const size = 3 * 1024 * 1024
    const answer = await sendRaw(
      gateway.url,
      Buffer.concat([
        Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`),
        Buffer.alloc(size),
      ]),
    )
    expect(statusOf(answer)).toBe(403)
    expect(answer).toMatch(/\r\n\r\nno$/)
    await expectNoLeak(gateway)
    await until('its connection is not used again', () =>
      [...gateway!.upstreams()].every(({ pool }) => pool.stats.connected === 0),
    )
  })

  it('that hangs does not slow down another route', async () => {
    const hanging = used(await rawUpstream(() => {}))
    const good = used(await upstreamOf((_request, response) => response.end('ok')))
    gateway = await gatewayTo([
      { id: 'bad', upstreams: [hanging.url], timeouts: { connectMs: 1000, headersMs: 20_000, bodyMs: 1000 } },
      { id: 'good', upstreams: [good.url] },
    ])
    const { url } = gateway
    const abort = new AbortController()
    const hung = Array.from({ length: 200 }, () =>
      fetch(`${url}/bad`, { signal: abort.signal }).catch(() => {}),
    )
    await until('all of them hang', () => hanging.received.length === 200)
    const start = performance.now()
    for (let i = 0; i < 50; i++) expect((await fetch(`${url}/good`)).status).toBe(200)
    expect(performance.now() - start).toBeLessThan(10_000)
    abort.abort()
    await Promise.all(hung)
    await expectNoLeak(gateway)
    await until('the upstream connections to be closed', () => hanging.closed() >= 200)
  })

  it('with too few connections: requests that wait too long get 504', async () => {
    const hanging = used(await rawUpstream(() => {}))
    gateway = await gatewayTo(
      { upstreams: [hanging.url], timeouts: { connectMs: 500, headersMs: 500, bodyMs: 500 } },
      { maxConnections: 2 },
    )
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => (await fetch(gateway!.url)).status),
    )
    expect(statuses).toStrictEqual([504, 504, 504, 504, 504, 504])
    expect(hanging.received.length).toBeLessThan(6)
    await until('nothing is in flight', () =>
      [...gateway!.upstreams()].every(({ inFlight }) => inFlight === 0),
    )
  })
})

describe('a client', () => {
  it('that disconnects ends its request at the upstream', async () => {
    const slow = used(await rawUpstream(() => {}))
    gateway = await gatewayTo({ id: 'slow', upstreams: [slow.url] })
    const abort = new AbortController()
    const request = fetch(`${gateway.url}/slow`, { signal: abort.signal })
    await until('the upstream has it', () => slow.received.length === 1)
    abort.abort()
    await expect(request).rejects.toThrow()
    await until('the connection to the upstream is closed', () => slow.closed() === 1)
    await expectNoLeak(gateway)
    expect(await countsIn(gateway, 'gateway_requests_total')).toStrictEqual(['route="slow",status="none" 1'])
  })

  it('that disconnects in the middle of its body ends the connection to the upstream', async () => {
    let isBegun = false
    const reading = used(
      await upstreamOf((request) => {
        request.on('data', () => {
          isBegun = true
        })
        request.on('error', () => {})
      }),
    )
    gateway = await gatewayTo({ upstreams: [reading.url] })
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\npart')
    await until('the upstream has a part', () => isBegun)
    socket.destroy()
    await until('the connection to the upstream is closed', () => reading.closed() === 1)
    await expectNoLeak(gateway)
  })

  it('that stops in the middle of its body gets 408', async () => {
    const reading = used(await upstreamOf((request) => void request.resume().on('error', () => {})))
    gateway = await gatewayTo({ upstreams: [reading.url] }, { bodyIdleMs: 200 })
    const answer = await sendRaw(
      gateway.url,
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\npart',
    )
    expect(statusOf(answer)).toBe(408)
    await until('the connection to the upstream is closed', () => reading.closed() === 1)
    await expectNoLeak(gateway)
  })

  it('that stops in the middle of its body and disconnects leaves no open request', async () => {
    const reading = used(await upstreamOf((request) => void request.resume().on('error', () => {})))
    gateway = await gatewayTo(
      [
        { id: 'dead', upstreams: [await deadUrl()] },
        { id: 'reading', upstreams: [reading.url] },
      ],
      { bodyIdleMs: 200 },
    )
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    const part = (path: string) => `POST /${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\npart`
    socket.write(part('dead'))
    expect(statusOf(String((await once(socket, 'data'))[0]))).toBe(502)
    // When this request has timed out, so has the other.
    expect(statusOf(await sendRaw(gateway.url, part('reading')))).toBe(408)
    // The rest is discarded, and the next bytes are a request again.
    socket.write('-rest')
    socket.write('GET /none HTTP/1.1\r\nhost: a\r\n\r\n')
    expect(statusOf(String((await once(socket, 'data'))[0]))).toBe(404)
    socket.destroy()
  })

  it('that does not read its response does not occupy the connection to the upstream', async () => {
    const large = used(await upstreamOf((_request, response) => response.end(Buffer.alloc(50 * 1024 * 1024))))
    gateway = await gatewayTo({ upstreams: [large.url] }, { bodyIdleMs: 200 })
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.pause().write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await until('the connection to the upstream is closed', () => large.closed() === 1)
    await expectNoLeak(gateway)
    socket.destroy()
  })

  it.each<[string, string]>([
    ['sends its length', 'content-length: 11\r\n\r\nhello world'],
    ['sends chunks', 'transfer-encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n'],
  ])('whose body is too large gets 413, if it %s', async (_what, rest) => {
    const reading = used(
      await upstreamOf((request, response) => {
        request.on('error', () => {}).on('end', () => response.end())
        request.resume()
      }),
    )
    gateway = await gatewayTo({ upstreams: [reading.url], maxBodyBytes: 10 })
    const answer = await sendRaw(gateway.url, `POST / HTTP/1.1\r\nhost: a\r\n${rest}`)
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('the maximum is 10 bytes')
    expect(answer).toMatch(/\r\nx-request-id: /)
    await expectNoLeak(gateway)
  })
})

describe('load balancing', () => {
  const upstreamNamed = async (name: string) =>
    used(await upstreamOf((_request, response) => response.end(name)))
  const ask = async (init?: RequestInit) => {
    const response = await fetch(gateway!.url, init)
    return response.ok ? response.text() : response.status
  }

  it('sends requests to the upstreams in turn', async () => {
    gateway = await gatewayTo({
      upstreams: [
        (await upstreamNamed('a')).url,
        (await upstreamNamed('b')).url,
        (await upstreamNamed('c')).url,
      ],
    })
    const answers = []
    for (let i = 0; i < 6; i++) answers.push(await ask())
    expect(answers).toStrictEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('skips an unreachable upstream, also for unsafe methods', async () => {
    gateway = await gatewayTo({ upstreams: [await deadUrl(), (await upstreamNamed('b')).url] })
    for (let i = 0; i < 6; i++) expect(await ask({ method: 'POST', body: 'once' })).toBe('b')
    // It was tried once, and then skipped for a moment.
    expect(await countsIn(gateway, 'gateway_upstream_errors_total')).toStrictEqual([
      'route="all",kind="connect" 1',
    ])
  })

  it('responds with 502 if all upstreams are unreachable', async () => {
    gateway = await gatewayTo({ upstreams: [await deadUrl(), await deadUrl()] })
    expect(await ask()).toBe(502)
    // Each was tried, and none twice.
    expect(await countsIn(gateway, 'gateway_upstream_errors_total')).toStrictEqual([
      'route="all",kind="connect" 2',
    ])
    expect(await ask()).toBe(502)
  })

  const retry: Route['retry'] = {
    retries: 2,
    retriesIfLost: 2,
    methods: new Set(['GET', 'HEAD']),
    isFailure: (status) => status >= 500,
    backoffMs: () => 1,
  }

  it('retries a safe request that one upstream has lost on another', async () => {
    const lost = used(await rawUpstream((socket) => socket.end()))
    gateway = await gatewayTo({ upstreams: [lost.url, (await upstreamNamed('b')).url], retry })
    expect([await ask(), await ask()]).toStrictEqual(['b', 'b'])
    expect(lost.received.length).toBe(2)
  })

  it('retries a safe request on a new connection if the only upstream closed an idle one', async () => {
    // Each connection has one response, and is closed by the next request on it.
    const answered = new WeakSet<Socket>()
    const closing = used(
      await rawUpstream((socket) => {
        if (answered.has(socket)) return void socket.destroy()
        answered.add(socket)
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      }),
    )
    gateway = await gatewayTo({ upstreams: [closing.url], retry: defaultRetry(1) })
    for (let i = 0; i < 4; i++) expect(await ask()).toBe('ok')
    expect(await ask({ method: 'POST' })).toBe(502)
    // The first request needs one connection, the others two; the POST is not retried.
    expect(closing.received.length).toBe(1 + 3 * 2 + 1)
    await expectNoLeak(gateway)
  })

  it('sends a request to the only upstream twice if the connection closes, and once if there is no response', async () => {
    const lost = used(await rawUpstream((socket) => socket.end()))
    const silent = used(await rawUpstream(() => {}))
    for (const [upstream, status, requests] of [
      [lost, 502, 2],
      [silent, 504, 1],
    ] as const) {
      gateway = await gatewayTo({ upstreams: [upstream.url], retry: defaultRetry(1), timeouts: TIMEOUTS })
      expect(await ask()).toBe(status)
      expect(upstream.received.length).toBe(requests)
      await gateway.close()
    }
  })

  it('does not retry unsafe requests and requests with a body', async () => {
    const lost = used(await rawUpstream((socket) => socket.end()))
    gateway = await gatewayTo({ upstreams: [lost.url, lost.url.replace('127.0.0.1', 'localhost')], retry })
    expect(await ask({ method: 'POST', body: 'once' })).toBe(502)
    expect(await ask({ method: 'DELETE' })).toBe(502)
    const answer = await sendRaw(gateway.url, 'GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi')
    expect(statusOf(answer)).toBe(502)
    expect(lost.received.length).toBe(3)
  })

  it('retries after a failure status, and forwards the last response', async () => {
    let requests = 0
    const busy = used(
      await upstreamOf((_request, response) => {
        requests++
        response.writeHead(503).end('busy')
      }),
    )
    gateway = await gatewayTo({ upstreams: [busy.url], retry })
    const response = await fetch(gateway.url)
    expect(response.status).toBe(503)
    expect(await response.text()).toBe('busy')
    expect(requests).toBe(3)
    await expectNoLeak(gateway)
  })

  it('sends no requests to an unhealthy upstream', async () => {
    let isHealthy = true
    const failing = used(
      await upstreamOf((request, response) => {
        if (request.url === '/health') response.writeHead(isHealthy ? 200 : 400).end()
        else response.end('failing')
      }),
    )
    const healthy = used(
      await upstreamOf((request, response) => response.end(request.url === '/health' ? '' : 'healthy')),
    )
    gateway = await gatewayTo({
      upstreams: [failing.url, healthy.url],
      healthCheck: { path: '/health', intervalMs: 50, timeoutMs: 1000 },
    })
    const both = async () => new Set([await ask(), await ask(), await ask(), await ask()])
    expect(await both()).toStrictEqual(new Set(['failing', 'healthy']))
    isHealthy = false
    await until('one is left', async () => (await both()).size === 1)
    expect(await both()).toStrictEqual(new Set(['healthy']))
    isHealthy = true
    await until('both get requests again', async () => (await both()).size === 2)
    expect(gateway.logged).toMatchObject([
      { msg: 'Health check failed; no requests are sent to the upstream', reason: 'status 400' },
      { msg: 'Health check passed; requests are sent to the upstream again' },
    ])
  })

  it('detects a hanging upstream even if all connections are in use', async () => {
    let isHealthy = true
    let taken = 0
    const hanging = used(
      await upstreamOf((request, response) => {
        if (request.url !== '/health') taken++
        else if (isHealthy) response.end()
      }),
    )
    gateway = await gatewayTo(
      {
        upstreams: [hanging.url, (await upstreamNamed('b')).url],
        healthCheck: { path: '/health', intervalMs: 50, timeoutMs: 1000 },
      },
      { maxConnections: 1 },
    )
    const { url } = gateway
    const abort = new AbortController()
    const hung = Array.from({ length: 4 }, () => fetch(url, { signal: abort.signal }).catch(() => {}))
    await until('its only connection is taken', () => taken === 1)
    isHealthy = false
    await until('it is detected', () => gateway!.logged.some(({ upstream }) => upstream === hanging.url))
    for (let i = 0; i < 4; i++) expect(await ask()).toBe('b')
    abort.abort()
    await Promise.all(hung)
  })
})
