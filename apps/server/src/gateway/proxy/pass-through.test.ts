import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { fileURLToPath } from 'node:url'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestUpstream, upstreamOf } from '../../../test/gateway.js'

/*
 * Bodies of all sizes, both ways. The gateway is a separate process, so that its memory can be measured: it keeps only a few
 * buffers of a body.
 */

const MB = 1024 * 1024
const SIZES = [0, 1, 1000, 65_535, 65_536, 65_537, MB, 100 * MB]
/** The content of a body, without repetition. */
const BLOCK = Buffer.from(Array.from({ length: 65_521 }, (_, i) => (i * i + (i >> 3)) & 255))

let upstream: TestUpstream
let gateway: ChildProcess
let url: string
const agent = new Agent({ keepAlive: true, maxSockets: 1000 })
/** The bytes that the upstream can send while the client does not read. */
let sentBytes = 0
let isReading = true

beforeAll(async () => {
  upstream = await upstreamOf(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://a')
    const size = Number(searchParams.get('size'))
    if (pathname === '/up') {
      response.end(await digestOf(request))
    } else if (pathname === '/echo') {
      if (searchParams.has('sized')) response.setHeader('content-length', size)
      request.pipe(response)
    } else if (pathname === '/stuck') {
      request.pause()
      await until('the client to read', () => isReading, { timeoutMs: 60_000 })
      response.end(await digestOf(request))
    } else {
      if (searchParams.has('sized')) response.setHeader('content-length', size)
      sentBytes = 0
      for (const piece of piecesOf(size)) {
        if (!response.write(piece)) await once(response, 'drain')
        sentBytes += piece.length
      }
      response.end()
    }
  })
  gateway = fork(fileURLToPath(new URL('../../../test/gateway-child.mjs', import.meta.url)), [upstream.url])
  const [started] = await once(gateway, 'message')
  url = started.url
})

afterAll(async () => {
  agent.destroy()
  if (gateway.connected) gateway.disconnect()
  await once(gateway, 'exit')
  await upstream.close()
})

function* piecesOf(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= BLOCK.length) yield BLOCK.subarray(0, Math.min(left, BLOCK.length))
}

/** Length and hash, which must be the same at both ends. */
async function digestOf(body: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<string> {
  const hash = createHash('sha1')
  let length = 0
  for await (const piece of body) {
    hash.update(piece)
    length += piece.length
  }
  return `${length} ${hash.digest('hex')}`
}

async function ask(path: string, options: RequestOptions = {}, size?: number): Promise<IncomingMessage> {
  const request = httpRequest(url + path, { agent, ...options })
  const answered = once(request, 'response')
  answered.catch(() => {})
  for (const piece of piecesOf(size ?? 0)) if (!request.write(piece)) await once(request, 'drain')
  request.end()
  const [response] = await answered
  return response
}

async function state(): Promise<{ rss: number; inFlight: number; running: number }> {
  gateway.send('?')
  return (await once(gateway, 'message'))[0]
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response) text += piece
  return text
}

const framings = (size: number) => [
  { title: 'chunked', headers: {}, query: '' },
  { title: 'sized', headers: { 'content-length': size }, query: '&sized' },
]

describe.each(SIZES)('a body of %d bytes', (size) => {
  it.each(framings(size))('reaches the upstream unchanged, $title', async ({ headers }) => {
    const response = await ask('/up', { method: 'POST', headers }, size)
    expect(response.headers['x-ratelimit-limit']).toBe('1')
    expect(await textOf(response)).toBe(await digestOf(piecesOf(size)))
  })

  it.each(framings(size))('reaches the client unchanged, $title', async ({ query }) => {
    const response = await ask(`/down?size=${size}${query}`)
    if (size > 0) {
      expect(response.headers['content-length']).toBe(query === '' ? undefined : String(size))
    }
    expect(await digestOf(response)).toBe(await digestOf(piecesOf(size)))
  })
})

describe('in both directions at once', () => {
  it.each(framings(20 * MB))('forwards 20 MB, $title', async ({ headers, query }) => {
    const size = 20 * MB
    const request = httpRequest(`${url}/echo?size=${size}${query}`, { agent, method: 'POST', headers })
    const back = once(request, 'response').then(([response]) => digestOf(response))
    for (const piece of piecesOf(size)) if (!request.write(piece)) await once(request, 'drain')
    request.end()
    expect(await back).toBe(await digestOf(piecesOf(size)))
  })

  it('does not mix 1,000 concurrent requests', async () => {
    const sizes = Array.from({ length: 1000 }, (_, i) => (i * 97) % 60_000)
    const bodies = await Promise.all(
      sizes.map(async (size, i) => {
        const headers = i % 2 === 0 ? { 'content-length': size } : {}
        return digestOf(await ask(`/echo?n=${i}`, { method: 'POST', headers }, size))
      }),
    )
    for (const [i, size] of sizes.entries()) expect(bodies[i]).toBe(await digestOf(piecesOf(size)))
    await until('nothing is in flight', async () => (await state()).inFlight === 0)
  })
})

describe('backpressure bounds memory with', () => {
  it('a client that does not read', async () => {
    const before = (await state()).rss
    const response = await ask(`/down?size=${100 * MB}`)
    response.pause()
    await untilStill(() => sentBytes)
    expect(sentBytes).toBeLessThan(50 * MB)
    expect((await state()).rss - before).toBeLessThan(60 * MB)
    expect(await digestOf(response)).toBe(await digestOf(piecesOf(100 * MB)))
  })

  it('an upstream that does not read', async () => {
    const before = (await state()).rss
    isReading = false
    let written = 0
    const request = httpRequest(`${url}/stuck`, { agent, method: 'POST' })
    const answered = once(request, 'response')
    const all = (async () => {
      for (const piece of piecesOf(100 * MB)) {
        if (!request.write(piece)) await once(request, 'drain')
        written += piece.length
      }
      request.end()
    })()
    await untilStill(() => written)
    expect(written).toBeLessThan(50 * MB)
    expect((await state()).rss - before).toBeLessThan(60 * MB)
    isReading = true
    await all
    const [response] = await answered
    expect(await textOf(response)).toBe(await digestOf(piecesOf(100 * MB)))
  })

  it('a client that writes byte by byte', async () => {
    const request = httpRequest(`${url}/up`, { agent, method: 'POST' })
    const answered = once(request, 'response')
    for (const piece of 'slowly') {
      request.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    request.end()
    const [response] = await answered
    expect(await textOf(response)).toBe(await digestOf([Buffer.from('slowly')]))
  })
})

it('memory is bounded after all requests', async () => {
  await until('nothing is in flight', async () => (await state()).running === 0)
  // 1.5 GB were forwarded.
  expect((await state()).rss).toBeLessThan(300 * MB)
})

/** Waits until a number is above 0 and has not changed for half a second. */
async function untilStill(number: () => number): Promise<void> {
  let before = 0
  let sinceMs = performance.now()
  await until('the number does not change', () => {
    const now = number()
    if (now === before) return now > 0 && performance.now() - sinceMs >= 500
    before = now
    sinceMs = performance.now()
    return false
  })
}
