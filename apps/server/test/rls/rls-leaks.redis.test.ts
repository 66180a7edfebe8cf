import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type ClientHttp2Session, constants } from 'node:http2'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { requestCodec } from '../../src/rls/service/codecs.js'
import { redisStore } from '../start-service.js'
import { type LimitsFolder, limitsFolder } from './limits-folder.js'
import { framed, grpcStatus, openSession, openStream } from './rls-call.js'

const CHILD = fileURLToPath(new URL('./rls-child.mjs', import.meta.url))
const WATCH = '/grpc.health.v1.Health/Watch'
const LIMITS = `
domain: shop
descriptors:
  - { key: user, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 5 } }
`
const ATOMIC = `
domain: pair
atomic: true
descriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 5 } }
`
/** Calls of each kind in a round. */
const CALLS = 300
/** An entry of 100 bytes for each request that can be decoded would be more. */
const MAX_GROWTH_BYTES = 80_000
/** Compiled code and caches grow too, but not in every round. */
const MAX_ROUNDS = 6

let redis: RedisServer
let folder: LimitsFolder
let child: ChildProcess
beforeAll(async () => {
  redis = await startRedis()
  folder = limitsFolder({ 'shop.yaml': LIMITS, 'pair.yaml': ATOMIC })
})
afterEach(async () => {
  child.disconnect()
  await once(child, 'exit')
})
afterAll(async () => {
  folder?.remove()
  await redis?.stop()
})

async function report() {
  child.send('report')
  const [held] = await once(child, 'message')
  return held as { bytes: number; series: number; connections: number }
}

const message = (domain: string, ...descriptors: object[]) =>
  framed(requestCodec.encode({ domain, descriptors }))
const user = (value: string) => ({ entries: [{ key: 'user', value }] })

/** Bodies of calls, by the status that they must get. `i` is different for each call. */
const KINDS: Record<string, { status: string; body: (i: number) => Buffer; every?: number }> = {
  'a message that is cut off': {
    status: '13',
    body: (i) => framed(Buffer.from([0x0a, 0x7f, i & 0x7f])),
  },
  'bytes that are not a message': {
    status: '13',
    body: (i) => framed(Buffer.alloc(500 + (i % 50), 0xff)),
  },
  'a length above the maximum': { status: '8', body: (i) => framed(Buffer.alloc(20), 2 ** 31 + i) },
  'a compressed message without an encoding': { status: '13', body: () => Buffer.from([1, 0, 0, 0, 1, 0]) },
  'an unknown domain': { status: '0', body: (i) => message(`unknown-${i}`.padEnd(2000, 'x'), user('x')) },
  'an unknown value': { status: '0', body: (i) => message('shop', user(`value-${i}`.padEnd(400, 'x'))) },
  'an unknown override': {
    status: '0',
    body: (i) => message('pair', { ...user('x'), limit: { requestsPerUnit: 10 + i, unit: 4 } }),
  },
  '1,000 descriptors': {
    status: '0',
    every: 200,
    body: () => message('shop', ...Array.from({ length: 1000 }, (_, j) => user(`many-${j}`))),
  },
  'a huge value': {
    status: '0',
    every: 50,
    body: (i) => message('shop', user(String(i).padEnd(200_000, 'x'))),
  },
}

let next = 0

/** Sends calls of a kind in groups of 100, and returns the wrong statuses. */
async function send(session: ClientHttp2Session, kind: string, calls: number): Promise<string[]> {
  const wrong: string[] = []
  const { status, body, every = 1 } = KINDS[kind]!
  for (let sent = 0; sent < calls; sent += 100 * every) {
    const group = Array.from({ length: Math.min(100, calls / every) }, () =>
      grpcStatus(session, body(next++)),
    )
    for (const got of await Promise.all(group)) if (got !== status) wrong.push(`${kind}: ${got}`)
  }
  return wrong
}

/** Streams that a client aborts: before, in the middle of and after the message, and while it watches the health. */
async function abortStreams(address: string, calls: number): Promise<void> {
  const whole = message('shop', user('aborted'))
  const parts = [Buffer.alloc(0), whole.subarray(0, 3), whole.subarray(0, 12), whole]
  // Node closes a session with too many aborted streams.
  for (let i = 0; i < calls; i += 100) {
    const session = openSession(address)
    await once(session, 'connect')
    const streams = Array.from({ length: 100 }, (_, j) => {
      const stream = openStream(session, j % 5 === 4 ? WATCH : undefined)
      if (j % 5 === 4) stream.end(framed(Buffer.alloc(0)))
      else stream.write(parts[j % 5]!)
      return stream
    })
    // After a ping, the server has received all of it; otherwise all arrives together.
    if (i % 200 === 0) await new Promise((resolve) => session.ping(resolve))
    const closed = streams.map((stream) => once(stream, 'close'))
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
    await Promise.all(closed)
    await close(session)
  }
}

async function close(session: ClientHttp2Session): Promise<void> {
  const closed = once(session, 'close')
  session.close()
  await closed
}

/** Connections that do not speak HTTP/2, or stop in the middle. */
async function abortConnections(address: string, calls: number): Promise<void> {
  const [host = '', port] = address.split(':')
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  const texts = [
    'GET / HTTP/1.1\r\n\r\n',
    preface,
    `${preface}\x00\x00\x05\x04aaaa`,
    preface + '\xff'.repeat(50),
  ]
  for (let i = 0; i < calls; i++) {
    const socket = connect(Number(port), host)
    socket.on('error', () => {}).write(texts[i % texts.length]!, 'latin1', () => socket.destroy())
    await once(socket, 'close')
  }
}

it.each(['memory', 'Redis'])(
  'malformed, huge and aborted calls leave nothing behind, on %s',
  async (kind) => {
    const store = kind === 'memory' ? '{ maxKeys: 1000 }' : redisStore(redis)
    const yaml = `store: ${store}\nrls: { listen: 0, config: [${folder.path}] }`
    child = fork(CHILD, [yaml], { execArgv: ['--expose-gc'] })
    const [{ address }] = await once(child, 'message')
    const round = async (calls: number) => {
      const session = openSession(address)
      const wrong: string[] = []
      for (const kind of Object.keys(KINDS)) wrong.push(...(await send(session, kind, calls)))
      expect(wrong).toStrictEqual([])
      await close(session)
      await abortStreams(address, calls)
      await abortConnections(address, calls / 10)
      return report()
    }
    const session = openSession(address)
    // Some are kept up to a maximum, such as 1,000 series.
    for (const kind of ['an unknown value', 'an unknown override']) await send(session, kind, 1100)
    await close(session)
    let before = await round(CALLS)
    const growth: number[] = []
    while (growth.length < MAX_ROUNDS && !(growth.at(-1)! < MAX_GROWTH_BYTES)) {
      const after = await round(CALLS)
      expect(after.series).toBe(before.series)
      growth.push(after.bytes - before.bytes)
      before = after
    }
    expect(Math.min(...growth)).toBeLessThan(MAX_GROWTH_BYTES)
    await until('all connections to be closed', async () => (await report()).connections === 0)
  },
  240_000,
)
