import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { type Decision, fixedWindow } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { parseExpression } from '@tidegate/http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deadUrl, gatewayTo, type TestGateway, upstreamOf } from '../../../test/gateway.js'
import { CHUNK, CHUNKS, type LlmUpstream, llmUpstream, USAGE } from '../../../test/llm-upstream.js'
import { type CostExpression, parseCost } from '../token-budget/cost-expression.js'
import { createOutputHistory, type OutputHistory } from '../token-budget/output-history.js'
import type { ReservedLimit } from '../token-budget/request-budget.js'
import { createRouteBudget } from './route-budget.js'

const LIMIT = 10_000
const MESSAGE = 'y'.repeat(76)
/** The role has 4 characters. */
const ESTIMATED_INPUT = 20

const { costOf } = parseCost('input + output') as CostExpression
const policy = fixedWindow({ name: 'tokens', limit: LIMIT, window: '1m' })

let upstream: LlmUpstream
let gateway: TestGateway
let history: OutputHistory
/** The result of each reservation: its units, or that it was cancelled. */
let reserved: ReservedLimit[]
let ended: (readonly number[] | 'cancelled')[]
let isAllowed = true
let degraded: Decision['degraded']
let beforeReserve: () => Promise<void>
let beforeSettle: () => Promise<void>

async function startGatewayTo(url: string): Promise<TestGateway> {
  const budget = createRouteBudget(
    'all',
    {
      budgets: [{ policy, key: parseExpression('header.x-user-id | query.team'), costOf, unit: 'tokens' }],
      maxBodyBytes: 1024 * 1024,
    },
    {
      history,
      async reserve(limits) {
        reserved.push(...limits)
        await beforeReserve()
        const decisions = limits.map(({ cost }) => decisionOn(cost))
        return {
          allowed: isAllowed,
          decisions,
          async settle(actual) {
            await beforeSettle()
            ended.push(actual)
          },
          async cancel() {
            ended.push('cancelled')
          },
        }
      },
      onDecision: () => {},
    },
  )
  return gatewayTo({ upstreams: [url], budget, timeouts: { connectMs: 1000, headersMs: 2000, bodyMs: 2000 } })
}

function decisionOn(cost: number): Decision {
  return {
    allowed: isAllowed,
    limit: LIMIT,
    remaining: isAllowed ? LIMIT - cost : 0,
    retryAfterMs: isAllowed ? 0 : 12_000,
    resetAfterMs: 30_000,
    delayMs: 0,
    cost,
    policy: 'tokens',
    ...(degraded === undefined ? {} : { degraded }),
    timeMs: Date.parse('2030-01-01T10:00:30Z'),
  } as Decision
}

beforeAll(async () => {
  upstream = await llmUpstream()
})
afterAll(() => upstream.close())
beforeEach(async () => {
  history = createOutputHistory()
  reserved = []
  ended = []
  isAllowed = true
  degraded = undefined
  beforeReserve = async () => {}
  beforeSettle = async () => {}
  gateway = await startGatewayTo(upstream.url)
})
afterEach(() => gateway.close())

const OPENAI = '/v1/chat/completions'
const ANTHROPIC = '/v1/messages'

/** A body of either shape. */
function bodyOf(model: string, more: object = {}): string {
  return JSON.stringify({ model, messages: [{ role: 'user', content: MESSAGE }], max_tokens: 500, ...more })
}

function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, { method: 'POST', body, headers: { 'x-user-id': 'alice', ...headers } })
}

/** A response whose body is read by hand. */
async function open(
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const sent = httpRequest(gateway.url + path, {
    method: 'POST',
    headers: { 'x-user-id': 'alice', ...headers },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  return response
}

/** The number of connections of the gateway. */
async function openConnections(): Promise<number> {
  const text = await gateway.registry.getSingleMetricAsString('gateway_connections')
  return Number(/^gateway_connections (\d+)$/m.exec(text)?.[1])
}

async function endings(): Promise<typeof ended> {
  await until('the reservation ended', () => ended.length > 0)
  return ended
}

describe.each([
  ['OpenAI', OPENAI],
  ['Anthropic', ANTHROPIC],
])('a model behind an API of %s', (_, path) => {
  it('is settled with the usage of its JSON response', async () => {
    const response = await post(path, bodyOf('echo'))
    expect(response.status).toBe(200)
    expect(await response.text()).toContain(CHUNK.repeat(CHUNKS))
    expect(reserved).toMatchObject([{ key: 'alice', cost: ESTIMATED_INPUT + 500 }])
    expect(await endings()).toEqual([[USAGE.input + USAGE.output]])
  })

  it('is settled with the usage of its stream', async () => {
    const body = bodyOf('echo', { stream: true, stream_options: { include_usage: true } })
    const text = await (await post(path, body)).text()
    expect(text.split(CHUNK)).toHaveLength(CHUNKS + 1)
    expect(await endings()).toEqual([[USAGE.input + USAGE.output]])
  })

  it.each([false, true])('is settled by its text without usage, streaming: %s', async (stream) => {
    await (await post(path, bodyOf('no-usage', { stream }))).text()
    expect(await endings()).toEqual([[ESTIMATED_INPUT + 10 * CHUNKS]])
  })

  it.each([false, true])(
    'passes compressed responses unchanged and reads them, streaming: %s',
    async (stream) => {
      const body = bodyOf('echo', { stream, stream_options: { include_usage: true } })
      const response = await post(path, body, { 'accept-encoding': 'gzip' })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      expect((await response.text()).split(CHUNK)).toHaveLength(CHUNKS + 1)
      expect(await endings()).toEqual([[USAGE.input + USAGE.output]])
    },
  )

  it('is settled at its input and the text sent if the client disconnects', async () => {
    const response = await open(path, bodyOf('endless', { stream: true }))
    let text = ''
    for await (const piece of response) {
      text += piece
      if (text.split(CHUNK).length > 3) break
    }
    response.destroy()
    const [units] = (await endings()) as number[][]
    const input = path === OPENAI ? ESTIMATED_INPUT : USAGE.input
    // The gateway may have sent some chunks more than were read here.
    expect(units![0]).toBeGreaterThanOrEqual(input + 30)
    expect(units![0]).toBeLessThan(input + 1000)
  })

  it('is settled at its input and the text sent if the upstream closes the connection', async () => {
    const response = await post(path, bodyOf('cut', { stream: true }))
    await expect(response.text()).rejects.toThrow()
    const [units] = (await endings()) as number[][]
    // Of Anthropic, the first event has no text, but one token of output.
    expect(units![0]).toBe(path === OPENAI ? ESTIMATED_INPUT + 10 : USAGE.input + 1)
  })

  it.each(['error', 'unauthorized'])('costs nothing if it responds with %s', async (model) => {
    expect((await post(path, bodyOf(model))).status).toBe(model === 'error' ? 500 : 401)
    expect(await endings()).toEqual(['cancelled'])
  })
})

it('forwards the chunks of a stream as they arrive', async () => {
  const response = await open(OPENAI, bodyOf('endless', { stream: true }))
  const [first] = await once(response, 'data')
  expect(String(first)).toContain(CHUNK)
  expect(ended).toEqual([])
  response.destroy()
  await endings()
})

it('forwards the request body unchanged', async () => {
  const body = ` ${bodyOf('echo', { messages: [{ role: 'user', content: '한국어 '.repeat(30_000) }] })}\n`
  await (await post(OPENAI, body)).text()
  expect(upstream.received.at(-1)!.body).toBe(body)
})

it('reserves by the outputs of the model so far', async () => {
  for (let n = 0; n < 19; n++) history.add('tokens', 'echo', USAGE.output)
  await (await post(OPENAI, bodyOf('echo'))).text()
  await until('the output is known', () => history.p95('tokens', 'echo') !== undefined)
  await (await post(OPENAI, bodyOf('echo'))).text()
  expect(reserved.map(({ cost }) => cost)).toEqual([ESTIMATED_INPUT + 500, ESTIMATED_INPUT + USAGE.output])
})

it('ignores outputs that their declared maximum cut off in the history', async () => {
  const body = bodyOf('echo', { max_tokens: USAGE.output })
  for (let n = 0; n < 20; n++) await (await post(OPENAI, body)).text()
  await until('all have ended', () => ended.length === 20)
  await (await post(OPENAI, bodyOf('echo'))).text()
  expect(reserved.at(-1)).toMatchObject({ cost: ESTIMATED_INPUT + 500 })
})

it('ignores failed and incomplete responses in the output history', async () => {
  // One more would be enough for a p95.
  for (const model of ['error', 'cut']) for (let n = 0; n < 19; n++) history.add('tokens', model, 10)
  await (await post(OPENAI, bodyOf('error'))).text()
  await (await post(OPENAI, bodyOf('cut', { stream: true }))).text().catch(() => {})
  await until('both have ended', () => ended.length === 2)
  expect(history.p95('tokens', 'error')).toBeUndefined()
  expect(history.p95('tokens', 'cut')).toBeUndefined()
})

it('keeps the reserved units of a response that is not text', async () => {
  await (await post(OPENAI, bodyOf('audio'))).arrayBuffer()
  expect(await endings()).toEqual([[ESTIMATED_INPUT + 500]])
})

it('costs the declared maximum of a response in the background', async () => {
  for (let n = 0; n < 100; n++) history.add('tokens', 'queued', 10)
  await (await post('/v1/responses', bodyOf('queued'))).text()
  expect(reserved).toMatchObject([{ cost: ESTIMATED_INPUT + 10 }])
  expect(await endings()).toEqual([[ESTIMATED_INPUT + 500]])
})

it('costs the reserved units of a response in the background without a maximum', async () => {
  await (await post('/v1/responses', bodyOf('queued', { max_tokens: undefined }))).text()
  expect(await endings()).toEqual([[ESTIMATED_INPUT + LIMIT / 4]])
})

it('costs nothing if the upstream is unreachable', async () => {
  await gateway.close()
  gateway = await startGatewayTo(await deadUrl())
  expect((await post(OPENAI, bodyOf('echo'))).status).toBe(502)
  expect(await endings()).toEqual(['cancelled'])
})

it('costs nothing if the upstream does not respond in time', async () => {
  expect((await post(OPENAI, bodyOf('silent'))).status).toBe(504)
  expect(await endings()).toEqual(['cancelled'])
})

it('costs the reserved units if the client disconnects before the response', async () => {
  const before = upstream.received.length
  const sent = httpRequest(gateway.url + OPENAI, { method: 'POST', headers: { 'x-user-id': 'alice' } })
  sent.on('error', () => {})
  sent.end(bodyOf('silent'))
  await until('the upstream has the request', () => upstream.received.length > before)
  sent.destroy()
  expect(await endings()).toEqual([[ESTIMATED_INPUT + 500]])
})

it('rejects an encoded request, which would hide its input from the estimate', async () => {
  const rejected = await post(OPENAI, bodyOf('m'), { 'content-encoding': 'gzip' })
  expect([rejected.status, rejected.headers.get('accept-encoding')]).toStrictEqual([415, 'identity'])
  expect(await rejected.json()).toMatchObject({ error: 'unsupported_media_type' })
  expect(reserved).toHaveLength(0)
  expect((await post(OPENAI, bodyOf('m'), { 'content-encoding': 'Identity' })).status).toBe(200)
})

describe('a denied request', () => {
  beforeEach(() => {
    isAllowed = false
  })

  it('gets 429 and does not reach the upstream', async () => {
    const before = upstream.received.length
    const response = await post(OPENAI, bodyOf('echo'))
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ error: 'rate_limit_exceeded' })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'retry-after': '12',
      'x-ratelimit-limit': '10000',
      'x-ratelimit-remaining': '0',
      'ratelimit-policy': '"tokens";q=10000;w=60;qu="tokens"',
      'cache-control': 'no-store',
    })
    expect(upstream.received).toHaveLength(before)
    expect(ended).toEqual([])
  })

  it('leaves the connection open for the next request', async () => {
    const response = await post(OPENAI, bodyOf('echo'))
    await response.text()
    expect(response.headers.get('connection')).not.toBe('close')
  })
})

describe('while the store is unavailable', () => {
  it('a closed policy responds with 503 and cancels, in case the store has received the reserve', async () => {
    isAllowed = false
    degraded = 'closed'
    const response = await post(OPENAI, bodyOf('echo'))
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: 'rate_limiter_unavailable' })
    expect(await endings()).toEqual(['cancelled'])
  })

  it('an open policy allows and settles, in case the store has received the reserve', async () => {
    degraded = 'open'
    const response = await post(OPENAI, bodyOf('echo'))
    await response.text()
    expect(response.headers.get('x-ratelimit-degraded')).toBe('open')
    expect(await endings()).toEqual([[USAGE.input + USAGE.output]])
  })
})

describe('an uncounted request', () => {
  it('has no body', async () => {
    await (await fetch(`${gateway.url}/v1/models`, { headers: { 'x-user-id': 'alice' } })).text()
    expect(reserved).toEqual([])
  })

  it('has no key', async () => {
    const response = await fetch(gateway.url + OPENAI, { method: 'POST', body: bodyOf('echo') })
    expect(response.status).toBe(200)
    await response.text()
    expect(reserved).toEqual([])
  })
})

it('rejects a body above the maximum with 413, sized or chunked', async () => {
  const body = bodyOf('echo', { messages: 'x'.repeat(1024 * 1024) })
  expect((await post(OPENAI, body)).status).toBe(413)
  const chunked = httpRequest(gateway.url + OPENAI, { method: 'POST', headers: { 'x-user-id': 'alice' } })
  chunked.on('error', () => {})
  const responded = once(chunked, 'response')
  chunked.write(body.slice(0, 600_000))
  chunked.end(body.slice(600_000))
  const [response] = await responded
  expect(response.statusCode).toBe(413)
  response.resume()
  expect(reserved).toEqual([])
})

it.each(['sized', 'chunked'])('forwards a %s body of exactly the maximum', async (framing) => {
  const size = 1024 * 1024
  const body = bodyOf('echo', { messages: 'x'.repeat(size - bodyOf('echo', { messages: '' }).length) })
  const headers = { 'x-user-id': 'alice', ...(framing === 'sized' && { 'content-length': size }) }
  const request = httpRequest(gateway.url + OPENAI, { method: 'POST', headers })
  const responded = once(request, 'response', { signal: AbortSignal.timeout(5000) })
  request.write(body.slice(0, 600_000))
  request.end(body.slice(600_000))
  const [response] = await responded
  expect(response.statusCode).toBe(200)
  response.resume()
  expect(upstream.received.at(-1)!.body).toHaveLength(size)
})

it('estimates a body that is not JSON by its bytes', async () => {
  expect((await post(OPENAI, 'not JSON '.repeat(8))).status).toBe(400)
  expect(reserved).toMatchObject([{ cost: 18 + LIMIT / 4 }])
  expect(await endings()).toEqual(['cancelled'])
})

it('reserves nothing if the client disconnects during its body', async () => {
  const sent = httpRequest(gateway.url + OPENAI, {
    method: 'POST',
    headers: { 'x-user-id': 'alice', 'content-length': '1000' },
  })
  sent.on('error', () => {})
  sent.write('{"model"')
  await until('the gateway has the connection', async () => (await openConnections()) === 1)
  sent.destroy()
  await until('the gateway has closed the connection', async () => (await openConnections()) === 0)
  expect(reserved).toEqual([])
})

it('cancels the reservation if the client disconnects while it is made', async () => {
  const before = upstream.received.length
  let goOn = () => {}
  const isHeld = new Promise<void>((resolve) => {
    goOn = resolve
  })
  beforeReserve = () => isHeld
  const sent = httpRequest(gateway.url + OPENAI, { method: 'POST', headers: { 'x-user-id': 'alice' } })
  sent.on('error', () => {})
  sent.end(bodyOf('echo'))
  await until('the reservation has begun', () => reserved.length === 1)
  sent.destroy()
  await until('the gateway has closed the connection', async () => (await openConnections()) === 0)
  goOn()
  expect(await endings()).toEqual(['cancelled'])
  expect(upstream.received).toHaveLength(before)
})

it('responds with 500 if the reservation fails with an unexpected error', async () => {
  beforeReserve = () => Promise.reject(new Error('a bug'))
  expect((await post(OPENAI, bodyOf('echo'))).status).toBe(500)
  expect(gateway.logged.map(({ msg }) => msg)).toContain('Gateway request failed')
})

it('rejects bodies beyond the memory for one client, and accepts them again later', async () => {
  // Of unknown length, each counts as the largest that is read: 1 MB of 64.
  const open = Array.from({ length: 64 }, () => {
    const sent = httpRequest(gateway.url + OPENAI, { method: 'POST', headers: { 'x-user-id': 'alice' } })
    sent.on('error', () => {})
    sent.write('{')
    return sent
  })
  await until('all have arrived', async () => (await openConnections()) === 64)
  const body = bodyOf('echo')
  await until('the next is rejected', async () => (await post(OPENAI, body)).status === 429)
  const rejected = await post(OPENAI, body)
  expect(rejected.headers.get('retry-after')).toBe('1')
  expect(await rejected.json()).toMatchObject({
    message: expect.stringMatching(/^Too many large request bodies/),
  })
  for (const sent of open) sent.destroy()
  await until('the memory is free again', async () => (await post(OPENAI, body)).status === 200)
})

it('does not read a response faster than the client', async () => {
  let sentBytes = 0
  const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(60_000) } }] })}\n\n`
  function* chunks() {
    for (; sentBytes < 100e6; sentBytes += chunk.length) yield chunk
  }
  const flood = await upstreamOf((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    pipeline(Readable.from(chunks()), response, () => {})
  })
  await gateway.close()
  gateway = await startGatewayTo(flood.url)
  const response = await open(OPENAI, bodyOf('echo', { stream: true }))
  let before = -1
  await until('the upstream has stopped sending', async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const isStill = sentBytes === before
    before = sentBytes
    return isStill
  })
  expect(sentBytes).toBeLessThan(50e6)
  response.destroy()
  await endings()
  await flood.close()
})

it('rejects several different keys with 400', async () => {
  const sent = httpRequest(`${gateway.url}${OPENAI}?team=a&team=b`, { method: 'POST' })
  sent.end(bodyOf('echo'))
  const [response] = await once(sent, 'response')
  response.resume()
  expect(response.statusCode).toBe(400)
  expect(reserved).toEqual([])
})

describe('a gateway that is closed', () => {
  it('waits for the settlement of the last response', async () => {
    beforeSettle = () => new Promise((resolve) => setTimeout(resolve, 300))
    await (await post(OPENAI, bodyOf('echo'), { connection: 'close' })).text()
    await gateway.close()
    expect(ended).toEqual([[USAGE.input + USAGE.output]])
  })

  it('does not wait longer than a second', async () => {
    beforeSettle = () => new Promise(() => {})
    await (await post(OPENAI, bodyOf('echo'), { connection: 'close' })).text()
    await gateway.close()
    expect(ended).toEqual([])
  })
})
