import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type TestUpstream, upstreamOf } from '../../../test/gateway.js'
import { startService, type TestService } from '../../../test/start-service.js'

let service: TestService | undefined
let upstream: TestUpstream
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await service?.close()
  await upstream.close()
})

/** A gateway with a circuit breaker that opens after 10 failures and then waits for 200 ms. */
async function start(headersTimeout = '10s'): Promise<string> {
  service = await startService(`
spring: {}
resilience4j.circuitbreaker.instances.b:
  { slidingWindowSize: 10, minimumNumberOfCalls: 10, waitDurationInOpenState: 200ms, permittedNumberOfCallsInHalfOpenState: 10 }
gateway:
  listen: 0
  headersTimeout: ${headersTimeout}
  routes:
    - uri: ${upstream.url}
      filters: [{ name: CircuitBreaker, args: { name: b, statusCodes: [500] } }]
`)
  return service.service.gateway!.url
}

const isLogged = (text: string) => service!.logged.some(({ msg }) => String(msg).startsWith(text))

/** Sends the beginning of a body. */
function open(url: string, length: number, part: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => {})
  socket.resume().write(`POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${part}`)
  return socket
}

async function statusOf(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init)
  await response.arrayBuffer()
  return response.status
}

describe('bodies that clients send slowly', () => {
  it.each([
    ['closes their connections', undefined],
    ['responds to them with a failure status', 500],
  ])('do not open the circuit breaker if the upstream %s', async (_, status) => {
    let failed = 0
    upstream = await upstreamOf((request, response) => {
      request.on('error', () => {}).resume()
      const timer = setTimeout(() => {
        failed++
        if (status === undefined) request.socket.destroy()
        else response.writeHead(status, { connection: 'close' }).end()
      }, 100)
      request.on('end', () => {
        clearTimeout(timer)
        response.end()
      })
    })
    const url = await start()
    for (let i = 0; i < 12; i++) open(url, 1000, 'x')
    await until('the upstream has failed them all', () => failed >= 12)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(isLogged('Circuit breaker opened')).toBe(false)
    expect(await statusOf(`${url}/a`)).toBe(200)
  })

  it('open it if the upstream does not read them', async () => {
    upstream = await upstreamOf((request) => request.pause())
    const url = await start('300ms')
    for (let i = 0; i < 12; i++) open(url, 1e8, 'x'.repeat(10_000_000))
    await until('it opens', () => isLogged('Circuit breaker opened'))
  })
})

describe('a half-open circuit breaker', () => {
  let isDown = true

  beforeEach(async () => {
    isDown = true
    upstream = await upstreamOf((request, response) => {
      request.on('error', () => {}).resume()
      if (isDown) request.socket.destroy()
      else request.on('end', () => response.end())
    })
  })

  /** Lets the breaker open, and the upstream recover. */
  async function startHalfOpen(headersTimeout?: string): Promise<string> {
    const url = await start(headersTimeout)
    for (let i = 0; i < 10; i++) await statusOf(`${url}/a`)
    await until('it opens', () => isLogged('Circuit breaker opened'))
    isDown = false
    await new Promise((resolve) => setTimeout(resolve, 250))
    return url
  }

  it.each([
    ['that are slow from the start', 'x'],
    ['that are slow after 200 KB', 'x'.repeat(200_000)],
  ])('closes although one client sends 10 bodies %s', async (_, part) => {
    const url = await startHalfOpen()
    for (let i = 0; i < 10; i++) open(url, 1e8, part)
    await new Promise((resolve) => setTimeout(resolve, 300))
    for (let i = 0; i < 5; i++) {
      expect(await statusOf(`${url}/a`)).toBe(200)
      expect(await statusOf(`${url}/a`, { method: 'POST', body: 'a body' })).toBe(200)
    }
    expect(isLogged('Circuit breaker closed')).toBe(true)
  })

  it('closes if all requests have bodies, small or large', async () => {
    const url = await startHalfOpen()
    for (const bytes of [5, 1_000_000]) {
      for (let i = 0; i < 5; i++) {
        expect(await statusOf(`${url}/a`, { method: 'POST', body: 'x'.repeat(bytes) })).toBe(200)
      }
    }
    expect(isLogged('Circuit breaker closed')).toBe(true)
  })

  it('gives the trials of slow bodies back after headersTimeout', async () => {
    const url = await startHalfOpen('500ms')
    for (let i = 0; i < 10; i++) open(url, 1e8, 'x'.repeat(200_000))
    const upload = () => statusOf(`${url}/a`, { method: 'POST', body: 'x'.repeat(1_000_000) })
    await until('slow bodies have all trials', async () => (await upload()) === 503)
    await until('an upload gets a trial', async () => (await upload()) === 200)
  })

  it('sends a slow body once it has closed, and rejects it with 503 otherwise', async () => {
    const url = await startHalfOpen('1s')
    expect(String((await once(open(url, 3, 'a'), 'data'))[0])).toMatch(/^HTTP\/1.1 503/)
    const socket = open(url, 3, 'a')
    for (let i = 0; i < 10; i++) expect(await statusOf(`${url}/a`)).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 1200))
    socket.write('bc')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200/)
  })
})
