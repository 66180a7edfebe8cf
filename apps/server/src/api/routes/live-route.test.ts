import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { LIVE, type LiveStream, openLive } from '../../../test/live-events.js'
import { CHECK, startService, type TestService } from '../../../test/start-service.js'
import { type FileText, loadConfig } from '../../config/load.js'
import { reload } from '../../run/reload.js'

describe('the live stream', () => {
  let service: TestService
  const streams: LiveStream[] = []
  const open = async () => {
    const stream = await openLive(service)
    streams.push(stream)
    return stream
  }
  beforeAll(async () => {
    service = await startService(`
policies:
  small: { algorithm: fixed-window, limit: 2, window: 1d }
  secret: { algorithm: fixed-window, limit: 100, window: 1d, keys: secret }
`)
  })
  afterEach(() => Promise.all(streams.splice(0).map((stream) => stream.close())))
  afterAll(() => service?.close())

  it('sends the first event at once, with everything that the dashboard shows', async () => {
    const stream = await open()
    expect(stream.response.status).toBe(200)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.response.headers.get('cache-control')).toBe('no-store')
    expect(stream.response.headers.get('x-request-id')).toBeTruthy()
    const first = await stream.next()
    expect(first).toMatchObject({
      seconds: 0,
      processes: 1,
      checkMs: null,
      state: 'well',
      message: expect.stringMatching(/^Healthy/),
      degraded: { perSecond: 0, totals: { open: 0, closed: 0, local: 0 } },
      store: { kind: 'memory', isUp: true },
      breaker: 'closed',
      instances: [{ pid: process.pid, id: first!.instance }],
    })
    expect(first!.policies.map(({ name }) => name)).toContain('small')
    const second = await stream.next()
    expect(second!.seconds).toBeGreaterThan(0)
  })

  it('counts allowed and denied checks by policy, and lists the keys', async () => {
    const stream = await open()
    const before = (await stream.next())!.policies.find(({ name }) => name === 'small')!
    for (let i = 0; i < 5; i++) await service.get(`${CHECK}?policy=small&key=busy`)
    let [allowed, denied] = [0, 0]
    let event = await stream.next()
    for (let i = 0; i < 5 && allowed + denied < 5; i++, event = await stream.next()) {
      const { policies, seconds } = event!
      const rates = policies.find(({ name }) => name === 'small')!
      allowed += Math.round(rates.allowed * seconds)
      denied += Math.round(rates.denied * seconds)
    }
    expect([allowed, denied]).toStrictEqual([2, 3])
    const after = event!.policies.find(({ name }) => name === 'small')!
    expect(after.allowedTotal - before.allowedTotal).toBe(2)
    expect(after.deniedTotal - before.deniedTotal).toBe(3)
    expect(event!.busiest).toContainEqual({
      policy: 'small',
      key: 'busy',
      count: 5,
      error: 0,
      isHashed: false,
    })
    expect(event!.denied).toContainEqual({
      policy: 'small',
      key: 'busy',
      count: 3,
      error: 0,
      isHashed: false,
    })
  })

  it('has the keys of a policy with keys: secret only as hashes', async () => {
    const stream = await open()
    await stream.next()
    await service.get(`${CHECK}?policy=secret&key=somebodys-name`)
    const event = (await stream.next())!
    const key = event.busiest.find(({ policy }) => policy === 'secret')!
    expect(key).toMatchObject({ key: expect.stringMatching(/^sha256:[\da-f]{64}$/), isHashed: true })
    expect(JSON.stringify(event)).not.toContain('somebodys-name')
  })

  it('ends after the requested number of events', async () => {
    const { status, body } = await service.asAdmin(`${LIVE}?events=1`)
    expect(status).toBe(200)
    expect(body.match(/^data: /gm)).toHaveLength(1)
    expect((await service.asAdmin(`${LIVE}?events=0.5`)).status).toBe(400)
    expect((await service.asAdmin(`${LIVE}?evnts=1`)).status).toBe(400)
  })

  it('accepts at most 32 watchers', async () => {
    for (let i = 0; i < 32; i++) await open()
    const { status, body } = await service.asAdmin(LIVE)
    expect(status).toBe(503)
    expect(body.message).toMatch(/Too many/)
    await streams.pop()!.close()
    await until(
      'a stream to be accepted again',
      async () => (await service.asAdmin(`${LIVE}?events=1`)).status === 200,
    )
  })

  it('records no keys before the first watcher', async () => {
    const other = await startService()
    try {
      await other.get(`${CHECK}?key=early`)
      expect(other.service.keys.isTracking).toBe(false)
      expect((await other.asAdmin(`${LIVE}?events=1`)).body).not.toContain('early')
      expect(other.service.keys.isTracking).toBe(true)
    } finally {
      await other.close()
    }
  })
})

it('a service that stops ends its streams without waiting for clients', async () => {
  const service = await startService()
  const stream = await openLive(service)
  await stream.next()
  const start = performance.now()
  await service.close()
  // Otherwise it would be closed after stopTimeout, which is 10 seconds.
  expect(performance.now() - start).toBeLessThan(5000)
  let event = await stream.next()
  while (event !== undefined) event = await stream.next()
})

it('a client that does not read is disconnected', async () => {
  const service = await startService()
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  try {
    socket.pause()
    socket.write(
      `GET ${LIVE} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${service.admin.authorization}\r\n\r\n`,
    )
    const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
    // Simulates a long time: events as large as the buffers of both sides together.
    const { live } = service.service
    const watch = live.watch
    let send: ((json: string) => void) | undefined
    Object.assign(live, {
      watch(onEvent: (json: string) => void, onEnd: () => void) {
        send = onEvent
        return watch(onEvent, onEnd)
      },
    })
    await until('the stream', () => send !== undefined)
    for (let i = 0; i < 40; i++) send!('x'.repeat(1024 * 1024))
    socket.resume()
    await closed
  } finally {
    socket.destroy()
    await service.close()
  }
})

describe('a stream with an admin token', () => {
  it('ends when a reload changes the token, and continues otherwise', async () => {
    const fileWith = (token: string) => `adminToken: ${token}\nlog: { level: silent }`
    const service = await startService(fileWith('the-first-admin-token'))
    const take = (token: string) => {
      const load = (text: FileText) => loadConfig({ text, env: {} })
      reload(service.service, { text: fileWith(token), load, file: 'file', log: service.service.log })
    }
    const look = (token: string) =>
      openLive({ url: service.url }, { headers: { authorization: `Bearer ${token}` } })
    try {
      const stream = await look('the-first-admin-token')
      take('the-first-admin-token')
      expect(await stream.next()).toBeDefined()
      take('the-second-admin-token')
      await until('the end', async () => (await stream.next()) === undefined)
      const another = await look('the-second-admin-token')
      expect(await another.next()).toBeDefined()
      await another.close()
    } finally {
      await service.close()
    }
  })
})

describe('a client that disconnects while earlier requests of its connection are in flight', () => {
  it('stops watching', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const service = await startService(
      `store: { url: "redis://127.0.0.1:${port}", deadline: 30s, connectTimeout: 30s }`,
    )
    try {
      const requests = [CHECK, LIVE]
        .map(
          (path) =>
            `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${service.admin.authorization}\r\n\r\n`,
        )
        .join('')
      const watch = vi.spyOn(service.service.live, 'watch')
      const gone = Array.from({ length: 40 }, async () => {
        const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(requests))
        await until('32 watchers', () => watch.mock.calls.length >= 32)
        socket.destroy()
      })
      await Promise.all(gone)
      await until('a stream to be accepted again', async () => {
        const stream = await openLive(service)
        await stream.close()
        return stream.response.status === 200
      })
    } finally {
      await service.close()
      silent.close()
    }
  })
})
