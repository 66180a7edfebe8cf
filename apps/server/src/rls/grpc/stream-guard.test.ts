import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { until } from '@tidegate/fixtures/until'
import { afterEach, expect, it } from 'vitest'
import { createStreamGuard, MAX_STREAMS, type StreamCounts } from './stream-guard.js'

let server: Http2Server
let counts: StreamCounts
let session: ClientHttp2Session
afterEach(() => {
  session?.destroy()
  server?.close()
})

const RESPONSE = Buffer.alloc(100_000)

/** Connects to a server that reads a request, and then writes `RESPONSE`. */
async function start(client: string | undefined, timeoutMs: number, settings = {}): Promise<void> {
  server = createServer({ settings: { maxConcurrentStreams: MAX_STREAMS } })
  const streams = createStreamGuard(server, {
    clientOf: () => client,
    maxMessageBytes: 256 * 1024,
    timeoutMs,
  })
  counts = streams.counts
  server.on('stream', (stream, headers) => {
    const guarded = streams.guard(stream, headers)
    if (guarded === undefined) return
    stream.on('data', (chunk: Buffer) => guarded.hold(chunk.length))
    stream.once('end', () => {
      if (stream.closed || !guarded.hold(RESPONSE.length)) return
      stream.respond()
      stream.end(RESPONSE)
      guarded.progress()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  session = connect(`http://127.0.0.1:${port}`, { settings }).on('error', () => {})
  await once(session, 'connect')
}

/** A stream without an end, and the code that it was closed with. */
function open(headers = {}) {
  const stream = session.request({ ':method': 'POST', ...headers }).on('error', () => {})
  const closed = new Promise<number>((resolve) => stream.once('close', () => resolve(stream.rstCode)))
  return { stream, closed }
}

async function responseBytes(): Promise<number> {
  const { stream, closed } = open()
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  stream.end(Buffer.alloc(1000))
  await closed
  return bytes
}

it('a request that does not arrive in time is canceled, and others of its connection are not', async () => {
  await start('a', 300)
  const { stream, closed } = open()
  stream.write('x')
  expect(await responseBytes()).toBe(RESPONSE.length)
  expect(await closed).toBe(8)
  expect(await responseBytes()).toBe(RESPONSE.length)
  expect(counts.aborted).toStrictEqual({ memory: 0, slow_request: 1, unread_response: 0 })
})

it('the connection of a client that does not read a response is closed', async () => {
  await start('a', 300, { initialWindowSize: 0 })
  open().stream.end('x')
  await once(session, 'close')
  expect(counts.aborted).toStrictEqual({ memory: 0, slow_request: 0, unread_response: 1 })
})

it.each([
  { client: 'a', streams: 100, messages: 30 },
  { client: undefined, streams: 1000, messages: 120 },
])('the client $client has $streams streams and about $messages messages', async (expected) => {
  const { client, streams, messages } = expected
  await start(client, 60_000)
  await until('the settings', () => session.remoteSettings.maxConcurrentStreams === streams)
  for (let round = 0; round < 2; round++) {
    let closed = 0
    const opened = Array.from({ length: messages + 20 }, () => open())
    for (const one of opened) {
      one.stream.write(Buffer.alloc(256_000))
      one.closed.then(() => closed++)
    }
    await until('some to be closed', () => closed >= 15)
    await setTimeout(200)
    expect(closed).toBeLessThan(25)
    for (const { stream } of opened) stream.resume().end()
    await Promise.all(opened.map((one) => one.closed))
    await until('memory to be free', async () => (await responseBytes()) === RESPONSE.length)
  }
})

it('a compressed request counts as a message of the maximum size', async () => {
  await start('a', 60_000)
  const opened = Array.from({ length: 40 }, () => open({ 'grpc-encoding': 'gzip' }))
  for (const { stream } of opened) stream.write('x')
  await until('the memory to be used up', () => counts.aborted.memory === 10)
})
