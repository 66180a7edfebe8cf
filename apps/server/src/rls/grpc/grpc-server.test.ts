import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { until } from '@tidegate/fixtures/until'
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { openSession } from '../../../test/rls/rls-call.js'
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

it('stops within its timeout although a client never closes its connection', async () => {
  await start()
  // A socket that does not read does not see the end of the connection.
  const silent = connect(server.port, server.host).pause()
  await until('the connection', () => server.connections.open === 1)
  try {
    expect(await Promise.race([server.close(300).then(() => 'stopped'), setTimeout(3000, 'late')])).toBe(
      'stopped',
    )
  } finally {
    silent.destroy()
  }
})
