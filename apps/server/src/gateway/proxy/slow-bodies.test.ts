import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type TestUpstream, until, upstreamOf } from '../../../test/gateway.js'
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
    await until(() => failed >= 12, 'the upstream has failed them all')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(isLogged('Circuit breaker opened')).toBe(false)
    expect(await statusOf(`${url}/a`)).toBe(200)
  })

  it('open it if the upstream does not read them', async () => {
    upstream = await upstreamOf((request) => request.pause())
    const url = await start('300ms')
    for (let i = 0; i < 12; i++) open(url, 1e8, 'x'.repeat(10_000_000))
    await until(() => isLogged('Circuit breaker opened'), 'it opens')
  })
})
