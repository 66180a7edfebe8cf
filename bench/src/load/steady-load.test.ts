import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { percentile } from './percentile.js'
import { loadSteadily } from './steady-load.js'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener)
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const LOAD = { paths: ['/a', '/b'], perSecond: 1000, connections: 4, count: 300 }

it('requests one path after another at its rate', async () => {
  const requested: string[] = []
  const url = await serve((request, response) => {
    requested.push(request.url!)
    response.setHeader('content-length', 2).end('{}')
  })
  const { waitsMs, failures, seconds } = await loadSteadily({ ...LOAD, url })
  expect(requested.filter((path) => path === '/a')).toHaveLength(150)
  expect(requested.filter((path) => path === '/b')).toHaveLength(150)
  expect(waitsMs).toHaveLength(300)
  expect(Math.min(...waitsMs)).toBeGreaterThan(0)
  expect(failures).toBe(0)
  expect(seconds).toBeGreaterThan(0.299)
})

it('counts the wait of requests that could not be sent yet', async () => {
  const held: (() => void)[] = []
  let isStalling = true
  const url = await serve((_request, response) => {
    const respond = () => void response.setHeader('content-length', 2).end('{}')
    if (isStalling) held.push(respond)
    else respond()
  })
  setTimeout(() => {
    isStalling = false
    for (const respond of held) respond()
  }, 400)
  const { waitsMs } = await loadSteadily({ ...LOAD, url })
  // At most four requests were in flight, and all three hundred waited.
  expect(held.length).toBeLessThanOrEqual(4)
  expect(percentile(waitsMs, 0.01)).toBeGreaterThan(90)
  expect(percentile(waitsMs, 0.99)).toBeGreaterThan(300)
})

it('counts responses other than 200, and responses without the store, as failures', async () => {
  let count = 0
  const url = await serve((_request, response) => {
    count++
    if (count === 7) response.statusCode = 429
    if (count === 8) response.setHeader('X-RateLimit-Degraded', 'open')
    response.setHeader('content-length', 2).end('{}')
  })
  expect((await loadSteadily({ ...LOAD, url })).failures).toBe(2)
})

it('counts requests without a response as failures', async () => {
  let count = 0
  const url = await serve((_request, response) => {
    if (++count <= 290) response.setHeader('content-length', 2).end('{}')
  })
  const { waitsMs, failures } = await loadSteadily({ ...LOAD, url, timeoutMs: 300 })
  expect(failures).toBe(10)
  expect(Math.min(...waitsMs)).toBeGreaterThan(0)
  expect(percentile(waitsMs, 0.99)).toBeGreaterThan(290)
})

it('fails if a connection is closed', async () => {
  const url = await serve((request) => request.destroy())
  await expect(loadSteadily({ ...LOAD, url })).rejects.toThrow(/closed a connection|ECONNRESET/)
})
