import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { until } from '@tidegate/fixtures/until'
import { contains, parseCidr } from '@tidegate/http'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'

import { exposeConnections } from '../metrics/connection-metrics.js'
import { type GuardOptions, guardConnections } from './connection-guard.js'

let server: Server | undefined
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
})

async function guarded(
  options: Pick<GuardOptions, 'max' | 'maxPerClient'> & Partial<GuardOptions>,
  created: Server,
) {
  server = created
  const logged: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const counts = guardConnections(server, { listener: 'test', log, ...options })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { counts, logged, messages: () => logged.map(({ msg, reason }) => `${msg}: ${reason}`) }
}

const answering = () => createServer((_request, response) => response.end('served'))

/** Connects from one loopback address; resolves to whether a request on the connection is answered. */
async function isServed(from: string): Promise<boolean> {
  const { port } = server!.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  return new Promise((resolve) => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
}

describe('connection limits', () => {
  it('leave connections for other clients when one has its share', async () => {
    const { counts } = await guarded({ max: 10, maxPerClient: 3 }, answering())
    const served = []
    for (let i = 0; i < 5; i++) served.push(await isServed('127.0.0.1'))
    expect(served).toStrictEqual([true, true, true, false, false])
    expect(await isServed('127.0.0.2')).toBe(true)
    expect(counts).toMatchObject({ open: 4, refusedByReason: { max: 0, max_per_client: 2 } })
  })

  it('apply to all clients together', async () => {
    const { counts } = await guarded({ max: 2, maxPerClient: 2 }, answering())
    expect(await isServed('127.0.0.1')).toBe(true)
    expect(await isServed('127.0.0.2')).toBe(true)
    expect(await isServed('127.0.0.3')).toBe(false)
    expect(counts).toMatchObject({ open: 2, refusedByReason: { max: 1, max_per_client: 0 } })
  })

  it('count only open connections', async () => {
    const { counts } = await guarded({ max: 10, maxPerClient: 1 }, answering())
    for (let i = 0; i < 3; i++) {
      expect(await isServed('127.0.0.1')).toBe(true)
      sockets.at(-1)!.destroy()
      await until('the connection is closed', () => counts.open === 0)
    }
    expect(counts.refusedByReason.max_per_client).toBe(0)
  })

  it('give a trusted proxy more than the share of one client', async () => {
    const loopback = parseCidr('127.0.0.1')!
    const isProxy: GuardOptions['isProxy'] = (address) => contains(loopback, address)
    await guarded({ max: 10, maxPerClient: 1, isProxy }, answering())
    expect(await isServed('127.0.0.1')).toBe(true)
    expect(await isServed('127.0.0.1')).toBe(true)
    expect(await isServed('127.0.0.2')).toBe(true)
    expect(await isServed('127.0.0.2')).toBe(false)
  })

  it('log one line per change, not one per connection', async () => {
    const { messages, logged } = await guarded({ max: 10, maxPerClient: 1, quietMs: 200 }, answering())
    for (let i = 0; i < 6; i++) await isServed('127.0.0.1')
    expect(messages()).toStrictEqual(['Connection limit reached: max_per_client'])
    expect(logged[0]).toMatchObject({ level: 40, listener: 'test', limit: 1, client: '127.0.0.1' })
    await until('it is logged that connections are accepted again', () => logged.length === 2)
    expect(messages()[1]).toBe('Connections are accepted again: max_per_client')
    await isServed('127.0.0.1')
    expect(messages()[2]).toBe('Connection limit reached: max_per_client')
  })

  it('count TLS connections, also those that never finish the handshake', async () => {
    const certificate = makeCertificate()
    const https = createHttpsServer(certificate, (_request, response) => response.end('served'))
    const { counts } = await guarded({ max: 10, maxPerClient: 2 }, https)
    const { port } = server!.address() as AddressInfo
    const secure = connectTls({ port, host: '127.0.0.1', ca: certificate.cert, servername: 'localhost' })
    sockets.push(secure.on('error', () => {}))
    await once(secure, 'secureConnect')
    const silent = connect(port, '127.0.0.1')
    sockets.push(silent)
    await until('both connections are counted', () => counts.open === 2)
    const third = connect(port, '127.0.0.1')
    sockets.push(third.on('error', () => {}))
    await once(third, 'close')
    expect(counts.refusedByReason.max_per_client).toBe(1)
    secure.destroy()
    silent.destroy()
    await until('both connections are closed', () => counts.open === 0)
  })

  it('are exposed as metrics', async () => {
    const { counts } = await guarded({ max: 7, maxPerClient: 1 }, answering())
    const registry = new Registry()
    exposeConnections(registry, 'test', counts)
    await isServed('127.0.0.1')
    await isServed('127.0.0.1')
    const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && line[0] !== '#')
    expect(lines).toStrictEqual([
      'test_connections 1',
      'test_connections_max 7',
      'test_connections_refused_total{reason="max"} 0',
      'test_connections_refused_total{reason="max_per_client"} 1',
    ])
  })
})
