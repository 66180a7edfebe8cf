import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { expect, it } from 'vitest'
import { startProcess } from '../../test/process.js'
import { expositionAt, valueIn } from '../../test/scrape.js'
import { BATCH, CHECK, startService } from '../../test/start-service.js'

async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const dropped = async (url: string, reason: string) =>
  valueIn(await expositionAt(url), 'api_connections_dropped_total', { reason })

function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

it('connections that pipeline and never read are closed, and memory stays bounded', async () => {
  const service = await startProcess([])
  const sockets: Socket[] = []
  try {
    await fetch(`${service.url}${CHECK}?key=warm-up`)
    const before = residentMegabytes(service.process.pid!)
    const requests = `GET ${CHECK}?key=flood HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(1600)
    for (let i = 0; i < 60; i++) {
      const socket = await openSocket(service.url)
      socket.pause()
      socket.write(requests)
      sockets.push(socket)
    }
    await until(
      'every connection to be dropped',
      async () => (await dropped(service.url, 'pipelining')) === 60,
      { timeoutMs: 50_000 },
    )
    expect(residentMegabytes(service.process.pid!) - before).toBeLessThan(150)
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    await until('the log line', () => service.log().some(({ reason }) => reason === 'pipelining'))
    expect(service.log().filter(({ reason }) => reason === 'pipelining')).toHaveLength(1)
  } finally {
    for (const socket of sockets) socket.destroy()
    await service.stop()
  }
})

it('the maximum number of pipelined requests all get a response', async () => {
  const service = await startService('policies: { token_bucket: { capacity: 1000, refillRate: 1/1d } }')
  const socket = await openSocket(service.url)
  try {
    let received = ''
    socket.on('data', (data) => {
      received += data
    })
    for (let round = 1; round <= 3; round++) {
      socket.write(`GET ${CHECK}?key=pipelined HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(100))
      await until('all responses', () => received.split('"allowed":true').length === round * 100 + 1)
    }
  } finally {
    socket.destroy()
    await service.close()
  }
})

/** One request whose response is a quarter of a megabyte. */
function largeBatch(): string {
  const body = JSON.stringify({ checks: Array.from({ length: 1000 }, (_, i) => ({ key: `user:${i}` })) })
  return `POST ${BATCH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

it('a connection is closed when its client reads nothing for the response timeout', async () => {
  const service = await startService('limits: { responseTimeout: 500ms }')
  const socket = await openSocket(service.url)
  try {
    socket.pause()
    // More than the buffers of both sides hold.
    socket.write(largeBatch().repeat(60))
    await until('the drop', async () => (await dropped(service.url, 'stalled')) === 1)
    socket.resume()
    await until('the end', () => socket.destroyed)
    expect(service.logged.filter(({ reason }) => reason === 'stalled')).toHaveLength(1)
  } finally {
    socket.destroy()
    await service.close()
  }
})

it('a client that reads slowly gets all of its responses', async () => {
  const service = await startService('limits: { responseTimeout: 2s }')
  const socket = await openSocket(service.url)
  try {
    const statusLine = 'HTTP/1.1 200'
    let responses = 0
    let rest = ''
    socket.on('data', (data) => {
      const text = rest + data
      responses += text.split(statusLine).length - 1
      rest = text.slice(1 - statusLine.length)
      socket.pause()
    })
    socket.write(largeBatch().repeat(60))
    await until(
      'all responses',
      () => {
        socket.resume()
        return responses === 60
      },
      { everyMs: 10, timeoutMs: 50_000 },
    )
    expect(await dropped(service.url, 'stalled')).toBe(0)
  } finally {
    socket.destroy()
    await service.close()
  }
})
