import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expositionAt, valueIn } from '../../../test/scrape.js'
import { BATCH, CHECK, REMAINING, startService, type TestService } from '../../../test/start-service.js'
import { createClientShares } from '../../http/client-shares.js'

it('shares are bounded for each client and in total, and can be taken again', () => {
  const shares = createClientShares({ perClient: 3, together: 5 })
  expect([shares.take('a', 2), shares.take('a', 2), shares.take('a', 1)]).toStrictEqual([true, false, true])
  expect([shares.take('b', 3), shares.take('b', 2)]).toStrictEqual([false, true])
  shares.give('a', 3)
  expect([shares.take('b', 1), shares.take('c', 3), shares.take('a', 2)]).toStrictEqual([true, false, true])
})

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

describe('checks that wait for the store', () => {
  let silent: Server
  let service: TestService
  const accepted = new Set<Socket>()
  beforeAll(async () => {
    silent = createServer((socket) => {
      accepted.add(socket)
      socket.on('error', () => {}).resume()
    }).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    service = await startService(
      `store: { url: "redis://127.0.0.1:${port}", deadline: 20s, connectTimeout: 20s }\ntrustedProxies: [127.0.0.1]`,
    )
  })
  afterAll(async () => {
    for (const socket of accepted) socket.destroy()
    silent?.close()
    await service?.close()
  })

  it('are denied beyond 2,000 for one client, without affecting another', async () => {
    const checks = Array.from({ length: 1000 }, (_, i) => ({ key: `user:${i}` }))
    const leaving = new AbortController()
    const waiting = [1, 2].map(() =>
      service.post(BATCH, { checks }, { ...from('192.0.2.1'), signal: leaving.signal }).catch(() => {}),
    )
    const { registry } = service.service.metrics
    const overload = async () => (await registry.getSingleMetric('api_overload_total')!.get()).values
    await until('both batches to wait', () => {
      const isFull = !service.service.inFlight!.take('ip:192.0.2.1', 1)
      if (!isFull) service.service.inFlight!.give('ip:192.0.2.1', 1)
      return isFull
    })

    const start = performance.now()
    const denied = await service.get(`${CHECK}?key=k`, from('192.0.2.1'))
    expect(denied).toMatchObject({
      status: 429,
      body: { allowed: false, degraded: 'local', remaining: null, retryAfterSeconds: 1 },
    })
    expect(denied.headers.get('retry-after')).toBe('1')
    expect(denied.headers.get('x-ratelimit-degraded')).toBe('local')
    const batch = await service.post(BATCH, { checks: checks.slice(0, 3) }, from('192.0.2.1'))
    expect(batch).toMatchObject({ status: 200, body: { allowed: false } })
    expect(new Set(batch.body.results.map((result: { degraded?: string }) => result.degraded))).toStrictEqual(
      new Set(['local']),
    )
    const atomic = await service.post(BATCH, { checks: checks.slice(0, 3), atomic: true }, from('192.0.2.1'))
    expect(atomic).toMatchObject({ status: 429, body: { allowed: false } })
    const peek = await service.get(`${REMAINING}?key=k`, from('192.0.2.1'))
    expect(peek).toMatchObject({ status: 200, body: { allowed: false, degraded: 'local' } })
    expect(performance.now() - start).toBeLessThan(5000)
    expect(await overload()).toStrictEqual([{ labels: {}, value: 8 }])

    const other = service.get(`${CHECK}?key=k`, { ...from('192.0.2.2'), signal: leaving.signal }).then(
      () => 'responded',
      () => 'aborted',
    )
    const first = await Promise.race([other, new Promise((resolve) => setTimeout(resolve, 300, 'waits'))])
    expect(first).toBe('waits')
    leaving.abort()
    expect(await other).toBe('aborted')
    await Promise.all(waiting)
  })
})

describe('request bodies that arrive slowly', () => {
  it('take at most 8 MiB per client', async () => {
    const service = await startService('trustedProxies: [127.0.0.1]')
    const sockets: Socket[] = []
    try {
      const { hostname, port } = new URL(service.url)
      const answers: string[] = []
      const head = `POST ${BATCH} HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 192.0.2.1\r\ncontent-type: application/json\r\ncontent-length: 500000\r\n\r\n`
      for (let i = 0; i < 40; i++) {
        const socket = connect(Number(port), hostname)
        sockets.push(socket)
        socket.on('error', () => {}).on('data', (data) => answers.push(String(data)))
        socket.write(head + ' '.repeat(450_000))
      }
      // 16 of 500,000 bytes fit.
      await until('the others to be rejected', () => answers.length === 24)
      for (const answer of answers) {
        expect(answer).toMatch(/^HTTP\/1\.1 429 /)
        expect(answer).toContain('Too many large request bodies')
      }
      const large = { checks: Array.from({ length: 1000 }, (_, i) => ({ key: `user:${i}` })) }
      expect((await service.post(BATCH, large, from('192.0.2.2'))).status).toBe(200)
      expect((await service.post(BATCH, large, from('192.0.2.1'))).status).toBe(200)
      for (const socket of sockets) socket.destroy()
      await until('the memory to be given back', () =>
        service.service.bodies.take('ip:192.0.2.1', 8 * 1024 * 1024),
      )
    } finally {
      for (const socket of sockets) socket.destroy()
      await service.close()
    }
  })
})

describe('connections', () => {
  /** Whether a request on a new connection from an address is answered. */
  async function isServed(url: string, localAddress: string, sockets: Socket[]): Promise<boolean> {
    const { hostname, port } = new URL(url)
    const socket = connect({ port: Number(port), host: hostname, localAddress })
    sockets.push(socket.on('error', () => {}))
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    return new Promise((resolve) => {
      socket.once('data', () => resolve(true))
      socket.once('close', () => resolve(false))
    })
  }

  it('of one client are limited, counted and logged once', async () => {
    const service = await startService('connections: { max: 5, maxPerClient: 2 }')
    const sockets: Socket[] = []
    try {
      const served: boolean[] = []
      for (let i = 0; i < 4; i++) served.push(await isServed(service.url, '127.0.0.2', sockets))
      expect(served).toStrictEqual([true, true, false, false])
      const exposition = await expositionAt(service.url)
      expect(valueIn(exposition, 'api_connections')).toBe(3)
      expect(valueIn(exposition, 'api_connections_max')).toBe(5)
      const refused = (reason: string) => valueIn(exposition, 'api_connections_refused_total', { reason })
      expect([refused('max'), refused('max_per_client')]).toStrictEqual([0, 2])
      const lines = service.logged.filter(({ msg }) => msg === 'Connection limit reached')
      expect(lines).toMatchObject([{ listener: 'api', reason: 'max_per_client', client: '127.0.0.2' }])
    } finally {
      for (const socket of sockets) socket.destroy()
      await service.close()
    }
  })

  it('at their maximum do not block local health checks', async () => {
    const service = await startService('connections: { max: 2, maxPerClient: 2 }')
    const sockets: Socket[] = []
    try {
      expect(await isServed(service.url, '127.0.0.2', sockets)).toBe(true)
      expect(await isServed(service.url, '127.0.0.3', sockets)).toBe(true)
      expect(await isServed(service.url, '127.0.0.1', sockets)).toBe(true)
    } finally {
      for (const socket of sockets) socket.destroy()
      await service.close()
    }
  })
})

it('responses are counted by group of routes and by status', async () => {
  const service = await startService()
  try {
    await service.get(`${CHECK}?key=a`)
    await service.get(`${CHECK}?key=a&permits=1000`)
    await service.get('/api/v1/admin/policies')
    await service.get('/nothing')
    const counted = async (route: string, status: string) =>
      valueIn(await expositionAt(service.url), 'api_responses_total', { route, status })
    await until('all of them to be counted', async () => (await counted('other', '4xx')) === 1)
    expect(await counted('check', '2xx')).toBe(1)
    expect(await counted('check', '4xx')).toBe(1)
    expect(await counted('admin', '401')).toBe(1)
    expect(await counted('check', '5xx')).toBe(0)
  } finally {
    await service.close()
  }
})
