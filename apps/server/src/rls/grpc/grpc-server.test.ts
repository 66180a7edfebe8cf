import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { until } from '@tidegate/fixtures/until'
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { openSession, openStream } from '../../../test/rls/rls-call.js'
import { createGrpcHealth } from './grpc-health.js'
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from './grpc-server.js'

let server: GrpcServer
afterEach(() => server?.close(1000))

async function start(options: Partial<GrpcServerOptions> = {}): Promise<void> {
  server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    guard: { max: 10, maxPerClient: 10, listener: 'rls', log: pino({ level: 'silent' }) },
    health: createGrpcHealth(),
    shouldRateLimit: () => Promise.reject(new Error('unexpected')),
    onError: () => {},
    ...options,
  })
}

it('closes connections whose client does not respond to pings', async () => {
  await start({ ping: { everyMs: 100, timeoutMs: 500 } })
  const session = openSession(`${server.host}:${server.port}`)
  const silent = connect(server.port, server.host).resume()
  await once(silent, 'close')
  // Longer than several pings with their timeout.
  await setTimeout(1000)
  expect([session.closed, server.connections.open]).toStrictEqual([false, 1])
  session.close()
})

it.each([
  // A socket that does not read does not see the end of the connection.
  { name: 'never closes its connection', open: () => connect(server.port, server.host).pause() },
  {
    name: 'never ends its request',
    open() {
      const session = openSession(`${server.host}:${server.port}`)
      openStream(session).write('x')
      return session
    },
  },
])('stops within its timeout although a client $name', async ({ open }) => {
  await start()
  const client = open()
  await until('the connection', () => server.connections.open === 1)
  // The call has begun.
  await setTimeout(100)
  try {
    const stopped = server.close(300).then(() => 'stopped')
    expect(await Promise.race([stopped, setTimeout(3000, 'late')])).toBe('stopped')
  } finally {
    client.destroy()
  }
})

it('closes the connection of a client that resets too many calls, and notices that the client is gone', async () => {
  await start()
  const session = openSession(`${server.host}:${server.port}`)
  const reset = async (calls: number) => {
    const streams = Array.from({ length: calls }, () => openStream(session))
    await new Promise((resolve) => session.ping(resolve))
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
    await Promise.all(streams.map((stream) => once(stream, 'close')))
    await new Promise((resolve) => session.ping(resolve))
  }
  await once(session, 'remoteSettings')
  for (let i = 0; i < 8; i++) await reset(100)
  expect([session.closed, server.connections.open]).toStrictEqual([false, 1])
  const goaway = once(session, 'goaway')
  for (let i = 0; i < 8; i++) await reset(100).catch(() => {})
  expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR)
  session.destroy()
  await until('the connection to be closed', () => server.connections.open === 0)
})
