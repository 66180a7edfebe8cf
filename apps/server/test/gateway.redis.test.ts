import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { llmUpstream, USAGE } from './llm-upstream.js'
import { REMAINING, redisStore, startService, type TestService } from './start-service.js'

// A file, a service with its gateway, and a real upstream.

let redis: RedisServer
let upstream: Server
let to = ''
let seen: IncomingMessage[] = []
let services: TestService[] = []
beforeAll(async () => {
  redis = await startRedis()
  upstream = createServer((request, response) => {
    seen.push(request)
    response.end(`hello ${request.url}`)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
beforeEach(() => {
  seen = []
})
afterEach(async () => {
  for (const service of services) await service.close()
  services = []
})
afterAll(async () => {
  upstream?.close()
  await redis?.stop()
})

async function start(yaml: string): Promise<TestService> {
  const service = await startService(yaml, 0, { UPSTREAM: to })
  services.push(service)
  return service
}

/** Sends a request with curl, with the user in a header. */
async function curl(url: string, user?: string): Promise<{ status: number; headers: Headers; body: string }> {
  const who = user === undefined ? [] : ['-H', `X-User-Id: ${user}`]
  const { stdout } = await promisify(execFile)('curl', ['-s', '-i', '--max-time', '20', ...who, url])
  const [head = '', body = ''] = stdout.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(first.split(' ')[1]), headers, body }
}

/** A route list as Spring Cloud Gateway has it, under its own key. */
const springRoutes = (filter: string) => `
gateway: { listen: 0 }
spring:
  cloud:
    gateway:
      routes:
        - id: api-route
          uri: ${to}
          predicates:
            - Path=/api/**
          filters:
            - ${filter}
`

describe.each(['memory', 'redis'])('on %s', (kind) => {
  const store = () => `store: ${kind === 'memory' ? 'memory' : redisStore(redis)}\n`

  it.each([
    ['FixedWindowRateLimiter', '{ limit: 3, windowSeconds: 86400 }'],
    ['SlidingWindowLogRateLimiter', '{ limit: 3, windowSeconds: 86400 }'],
    ['SlidingWindowCounterRateLimiter', '{ limit: 3, windowSeconds: 86400 }'],
    ['TokenBucketRateLimiter', '{ capacity: 3, refillRate: 1/1h }'],
    ['LeakyBucketRateLimiter', '{ capacity: 3, leakRate: 1/1h }'],
  ])('%s allows three, denies the fourth with headers, and allows other keys', async (name, args) => {
    const filter = `{ name: ${name}, args: ${args} }`
    const service = await start(store() + springRoutes(filter))
    const url = `${service.service.gateway!.url}/api/test`
    for (const left of [2, 1, 0]) {
      const passed = await curl(url, 'user123')
      expect(passed).toMatchObject({ status: 200, body: 'hello /api/test' })
      expect(passed.headers.get('x-ratelimit-limit')).toBe('3')
      expect(passed.headers.get('x-ratelimit-remaining')).toBe(String(left))
    }
    const denied = await curl(url, 'user123')
    expect(denied.status).toBe(429)
    expect(denied.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(denied.headers.get('ratelimit-policy')).toMatch(/;q=3;/)
    expect(JSON.parse(denied.body)).toMatchObject({ error: 'rate_limit_exceeded' })
    expect((await curl(url, 'user456')).status).toBe(200)
    // All requests without the header share one limit.
    for (let i = 0; i < 3; i++) expect((await curl(url)).status).toBe(200)
    expect((await curl(url)).status).toBe(429)
    expect(seen).toHaveLength(7)
  })
})

it('two gateways on one Redis share one limit, exactly', async () => {
  const filter = '{ name: TokenBucketRateLimiter, args: { capacity: 50, refillRate: 1/1h } }'
  const yaml = `store: ${redisStore(redis)}\n${springRoutes(filter).replace('api-route', 'shared-route')}`
  const urls = [await start(yaml), await start(yaml)].map(({ service }) => service.gateway!.url)
  const ask = (i: number) => fetch(`${urls[i % 2]}/api/x`).then(({ status }) => status)
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)))
  expect(statuses.filter((status) => status === 200)).toHaveLength(50)
  expect(statuses.filter((status) => status === 429)).toHaveLength(150)
  expect(seen).toHaveLength(50)
})

describe('examples/gateway', () => {
  // Days instead of minutes, so that no window ends and no unit is refilled during a test.
  const file = () =>
    readFileSync(new URL('../../../examples/gateway/tidegate.yaml', import.meta.url), 'utf8')
      .replace('listen: 8000', 'listen: 0')
      .replaceAll('1m', '1d')

  it('three levels decide together: if the third denies, the first two are not charged', async () => {
    const { service } = await start(file())
    const { url } = service.gateway!
    const left = (answer: { headers: Headers }) =>
      Object.fromEntries(
        [...answer.headers.get('ratelimit')!.matchAll(/"([\w-]+)";r=(\d+)/g)].map(([, name, r]) => [
          name,
          Number(r),
        ]),
      )
    for (const n of [1, 2, 3]) {
      const passed = await curl(`${url}/api/search`, 'user123')
      expect(passed).toMatchObject({ status: 200, body: 'hello /search' })
      expect(left(passed)).toStrictEqual({ everybody: 1000 - n, 'each-user': 10 - n, search: 3 - n })
    }
    expect((await curl(`${url}/api/search`, 'user123')).status).toBe(429)
    // Another endpoint: seven are left for the user, so the denied request took none.
    const other = await curl(`${url}/api/orders`, 'user123')
    expect(other.status).toBe(200)
    expect(left(other)['each-user']).toBe(6)
    expect(seen.at(-1)!.headers['x-gateway']).toBe('tidegate')
    expect((await curl(`${url}/api/search`, 'user456')).status).toBe(200)
  })

  it('mail waits in a queue and is released at two per second', async () => {
    const { service } = await start(file())
    const arrived: number[] = []
    const note = () => void arrived.push(performance.now())
    upstream.on('request', note)
    const send = () =>
      fetch(`${service.gateway!.url}/mail`, { method: 'POST', headers: { 'x-user-id': 'a' } })
    const startMs = performance.now()
    const statuses = (await Promise.all([send(), send(), send(), send()])).map(({ status }) => status)
    upstream.off('request', note)
    expect(statuses).toStrictEqual([200, 200, 200, 200])
    expect(arrived).toHaveLength(4)
    // A busy machine may release one late, but none early.
    for (const [i, at] of arrived.entries()) expect(at - startMs).toBeGreaterThan(i * 500 - 5)
  })
})

describe('TokenBudget on Redis', () => {
  it('is one budget for two gateways, charged with the actual tokens', async () => {
    const models = await llmUpstream()
    const yaml = `
store: ${redisStore(redis)}
policies:
  tokens: { algorithm: sliding-window-counter, limit: 5000, window: 1h }
gateway:
  listen: 0
  routes:
    - { uri: ${models.url}, filters: [TokenBudget=tokens] }
`
    const [one, other] = [await start(yaml), await start(yaml)]
    const body = JSON.stringify({ model: 'echo', messages: 'hello', max_tokens: 100, stream: true })
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const url = `${(i % 2 === 0 ? one : other).service.gateway!.url}/v1/messages`
        const response = await fetch(url, { method: 'POST', body, headers: { 'x-user-id': 'alice' } })
        await response.text()
        return response.status
      }),
    )
    expect(statuses).toStrictEqual(Array(40).fill(200))
    const used = 40 * (USAGE.input + USAGE.output)
    await until(`${used} tokens are used`, async () => {
      const { body } = await one.get(`${REMAINING}?policy=tokens&key=alice`)
      return body.remaining === 5000 - used
    })
    await models.close()
  })
})
