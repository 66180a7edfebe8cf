import { once } from 'node:events'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { setTimeout } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import { until } from '@tidegate/fixtures/until'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { framed } from '../../../test/rls/rls-call.js'
import { healthRequestCodec, requestCodec, responseCodec } from '../service/codecs.js'
import { RlsError } from '../service/rls-error.js'
import type { RateLimitRequest } from '../service/rls-messages.js'
import { createGrpcHealth, type GrpcHealth } from './grpc-health.js'
import { type GrpcServer, startGrpcServer } from './grpc-server.js'

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

let server: GrpcServer
let session: ClientHttp2Session
let health: GrpcHealth
let domains: string[]
let errors: unknown[]

beforeEach(async () => {
  domains = []
  errors = []
  health = createGrpcHealth()
  server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    guard: { max: 10, maxPerClient: 10, listener: 'rls', log: pino({ level: 'silent' }) },
    health,
    shouldRateLimit,
    onError: (error) => errors.push(error),
  })
  session = connect(`http://127.0.0.1:${server.port}`)
  await once(session, 'connect')
})
afterEach(async () => {
  session.destroy()
  await server.close(1000)
})

async function shouldRateLimit({ domain }: RateLimitRequest) {
  domains.push(domain)
  if (domain === 'broken') throw new Error('a secret')
  if (domain === 'invalid') throw new RlsError('invalid', 'Größe: 100 %\n')
  return { overallCode: 1, statuses: [] }
}

/** A call, and what the server sends: headers and trailers together. */
function call(headers: OutgoingHttpHeaders = {}) {
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    ...headers,
  })
  const chunks: Buffer[] = []
  let fields: Record<string, unknown> = {}
  const addFields = (more: object) => {
    fields = { ...fields, ...more }
  }
  stream.on('error', () => {})
  stream.on('response', addFields).on('trailers', addFields)
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const response = once(stream, 'close').then(() => ({ fields, body: Buffer.concat(chunks) }))
  return { stream, response, chunks }
}

async function statusOf(body: Buffer, headers?: OutgoingHttpHeaders): Promise<unknown> {
  const { stream, response } = call(headers)
  stream.end(body)
  const { fields } = await response
  return fields['grpc-status'] ?? fields[':status']
}

const message = requestCodec.encode({ domain: 'shop', descriptors: [] })
const request = framed(message)
const compressed = (bytes: Buffer) => Buffer.concat([Buffer.from([1]), framed(bytes).subarray(1)])

describe('a call', () => {
  it('has one response and a status of 0', async () => {
    const { stream, response } = call({ 'content-type': 'application/grpc+proto' })
    stream.end(request)
    const { fields, body } = await response
    expect(fields).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' })
    expect(body).toStrictEqual(framed(responseCodec.encode({ overallCode: 1, statuses: [] })))
  })

  it('can arrive byte by byte', async () => {
    const { stream, response } = call()
    for (const byte of request) {
      stream.write(Buffer.from([byte]))
      await setTimeout(1)
    }
    stream.end()
    expect((await response).fields['grpc-status']).toBe('0')
    expect(domains).toStrictEqual(['shop'])
  })

  it.each([
    ['gzip', gzipSync(message)],
    ['deflate', deflateSync(message)],
  ])('can be compressed by %s', async (encoding, bytes) => {
    expect(await statusOf(compressed(bytes), { 'grpc-encoding': encoding })).toBe('0')
    expect(await statusOf(request, { 'grpc-encoding': encoding })).toBe('0')
    expect(domains).toStrictEqual(['shop', 'shop'])
  })

  it.each<[string, Buffer, string | number, OutgoingHttpHeaders?]>([
    ['no message', Buffer.alloc(0), '13'],
    ['a part of a prefix', request.subarray(0, 3), '13'],
    ['a part of a message', request.subarray(0, -1), '13'],
    ['two messages', Buffer.concat([request, request]), '13'],
    ['a byte after its message', Buffer.concat([request, Buffer.alloc(1)]), '13'],
    ['an unknown flag', Buffer.concat([Buffer.from([2]), request.subarray(1)]), '13'],
    ['a length of 4 GiB', Buffer.from([0, 255, 255, 255, 255]), '8'],
    ['an unknown encoding', request, '12', { 'grpc-encoding': 'br' }],
    ['compressed bytes that are not gzip', compressed(message), '13', { 'grpc-encoding': 'gzip' }],
    [
      'a message of 1 MiB, compressed',
      compressed(gzipSync(Buffer.alloc(2 ** 20))),
      '8',
      { 'grpc-encoding': 'gzip' },
    ],
    ['an unknown path', request, '12', { ':path': '/x' }],
    ['a path below a method', request, '12', { ':path': `${PATH}/x` }],
    ['another method', request, '12', { ':method': 'PUT' }],
    ['another content type', request, 415, { 'content-type': 'application/json' }],
  ])('with %s is rejected, and not counted', async (_, body, status, headers) => {
    expect(await statusOf(body, headers)).toBe(status)
    expect(domains).toStrictEqual([])
    expect(await statusOf(request)).toBe('0')
  })

  it('with an error has its message, in any characters', async () => {
    const { stream, response } = call()
    stream.end(framed(requestCodec.encode({ domain: 'invalid' })))
    const { fields } = await response
    expect(fields['grpc-status']).toBe('3')
    expect(decodeURIComponent(String(fields['grpc-message']))).toBe('Größe: 100 %\n')
  })

  it('with an unexpected error hides it, and reports it', async () => {
    const { stream, response } = call()
    stream.end(framed(requestCodec.encode({ domain: 'broken' })))
    const { fields } = await response
    expect(fields['grpc-status']).toBe('13')
    expect(fields['grpc-message']).not.toContain('secret')
    expect(errors).toMatchObject([{ message: 'a secret' }])
  })

  it('whose connection is lost before its end is not counted', async () => {
    const other = connect(`http://127.0.0.1:${server.port}`)
    const stream = other.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc' })
    stream.on('error', () => {}).write(request)
    await setTimeout(50)
    other.destroy()
    await until('the connection to be lost', () => server.connections.open === 1)
    expect(await statusOf(request)).toBe('0')
    expect(domains).toStrictEqual(['shop'])
  })
})

it('Watch ends when the server stops, so that it does not delay the stop', async () => {
  const { stream, response, chunks } = call({ ':path': '/grpc.health.v1.Health/Watch' })
  stream.end(framed(healthRequestCodec.encode({ service: '' })))
  await until('the first status', () => chunks.length === 1)
  health.end()
  const { fields, body } = await response
  expect(fields).toMatchObject({ ':status': 200, 'grpc-status': '0' })
  expect(body.at(-1)).toBe(2)
})

it('Watch sends each change of the health', async () => {
  const { stream, response, chunks } = call({ ':path': '/grpc.health.v1.Health/Watch' })
  stream.end(framed(healthRequestCodec.encode({ service: 'ratelimit' })))
  const statuses = () => chunks.map((chunk) => chunk.at(-1))
  await until('the first status', () => chunks.length === 1)
  health.set(false)
  await until('the second status', () => chunks.length === 2)
  health.set(true)
  await until('the third status', () => chunks.length === 3)
  expect(statuses()).toStrictEqual([1, 2, 1])
  stream.close(8)
  await response
})
