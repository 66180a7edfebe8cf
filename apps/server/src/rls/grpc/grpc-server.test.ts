import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { openSession } from '../../../test/rls/rls-call.js'
import { createGrpcHealth } from './grpc-health.js'
import { type GrpcServer, startGrpcServer } from './grpc-server.js'

let server: GrpcServer
afterEach(() => server?.close(1000))

it('closes connections whose client does not respond to pings', async () => {
  server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    guard: { max: 10, maxPerClient: 10, listener: 'rls', log: pino({ level: 'silent' }) },
    health: createGrpcHealth(),
    ping: { everyMs: 100, timeoutMs: 500 },
    shouldRateLimit: () => Promise.reject(new Error('unexpected')),
    onError: () => {},
  })
  const session = openSession(`${server.host}:${server.port}`)
  const silent = connect(server.port, server.host).resume()
  await once(silent, 'close')
  // Longer than several pings with their timeout.
  await setTimeout(1000)
  expect([session.closed, server.connections.open]).toStrictEqual([false, 1])
  session.close()
})
