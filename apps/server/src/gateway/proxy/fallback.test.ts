import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { deadUrl, type TestUpstream, upstreamOf } from '../../../test/gateway.js'
import { startService, type TestService } from '../../../test/start-service.js'

let service: TestService | undefined
let upstreams: TestUpstream[] = []
afterEach(async () => {
  await service?.close()
  for (const upstream of upstreams) await upstream.close()
  upstreams = []
})

async function upstream(respond: (url: string) => number): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const one = await upstreamOf((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['content-type'] ?? '-'}`)
    response.writeHead(respond(request.url ?? '')).end(`from ${request.url}`)
  })
  upstreams.push(one)
  return { url: one.url, seen }
}

async function start(yaml: string): Promise<string> {
  service = await startService(yaml)
  return service.service.gateway!.url
}

const textOf = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init)
  return `${response.status} ${await response.text()}`
}

describe('a circuit breaker on a route', () => {
  const breaker = (args: string) => `{ name: CircuitBreaker, args: { name: b, ${args} } }`

  it('sends requests that failed to the fallback route, under its limits and without the body', async () => {
    const good = await upstream(() => 200)
    const url = await start(`
gateway:
  listen: 0
  routes:
    - { id: a, uri: '${await deadUrl()}', predicates: [Path=/a], filters: [${breaker('fallbackUri: "forward:/sorry"')}] }
    - id: sorry
      uri: ${good.url}
      predicates: [Path=/sorry]
      filters: [{ name: FixedWindowRateLimiter, args: { limit: 2 } }]
`)
    expect(await textOf(`${url}/a?x=1`)).toBe('200 from /sorry?x=1')
    const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
    expect(await textOf(`${url}/a`, post)).toBe('200 from /sorry')
    expect(good.seen).toStrictEqual(['GET /sorry?x=1 -', 'POST /sorry -'])
    const denied = await fetch(`${url}/a`)
    expect([denied.status, denied.headers.get('x-ratelimit-limit')]).toStrictEqual([429, '2'])
  })

  it('counts the configured statuses as failures, and opens per upstream', async () => {
    const bad = await upstream(() => 500)
    const good = await upstream(() => 200)
    const sorry = await upstream(() => 200)
    const url = await start(`
spring: {}
resilience4j.circuitbreaker.instances.b: { slidingWindowSize: 2, minimumNumberOfCalls: 1, waitDurationInOpenState: 50000 }
gateway:
  listen: 0
  routes:
    - uri: ['${bad.url}', '${good.url}']
      predicates: [Path=/a/**]
      filters: [${breaker(`statusCodes: [500], fallbackUri: "${sorry.url}/page"`)}]
`)
    const texts = []
    for (let i = 0; i < 6; i++) texts.push(await textOf(`${url}/a/${i}`))
    expect(texts.filter((text) => text === `200 from /page`)).toHaveLength(1)
    expect(bad.seen).toHaveLength(1)
    expect(good.seen).toHaveLength(5)
  })

  it('closes again once the upstream responds', async () => {
    let status = 500
    const flaky = await upstream(() => status)
    const url = await start(`
spring: {}
resilience4j.circuitbreaker.configs.default:
  { slidingWindowSize: 1, waitDurationInOpenState: 100ms, permittedNumberOfCallsInHalfOpenState: 1 }
gateway:
  listen: 0
  routes: [{ uri: '${flaky.url}', filters: [${breaker('statusCodes: 500')}] }]
`)
    // Without a fallback, the response that failed is sent.
    expect(await textOf(`${url}/1`)).toBe('500 from /1')
    expect(await textOf(`${url}/2`)).toMatch(/^503 .*circuit breaker is open/)
    expect(flaky.seen).toHaveLength(1)
    status = 200
    await until('the breaker lets a request try', async () => (await textOf(`${url}/3`)) === '200 from /3')
    await until('it closes', () => service!.logged.some(({ msg }) => msg === 'Circuit breaker closed'))
    expect(await textOf(`${url}/4`)).toBe('200 from /4')
  })

  it('rejects a loop of fallbacks, and a fallback without a route', async () => {
    const dead = await deadUrl()
    const url = await start(`
gateway:
  listen: 0
  routes:
    - { uri: '${dead}', predicates: [Path=/a], filters: [${breaker('fallbackUri: "forward:/b"')}] }
    - { uri: '${dead}', predicates: [Path=/b], filters: [${breaker('fallbackUri: "forward:/a"')}] }
    - { uri: '${dead}', predicates: [Path=/c], filters: [${breaker('fallbackUri: "forward:/nowhere"')}] }
`)
    expect(await textOf(`${url}/a`)).toMatch(/^503 /)
    expect(await textOf(`${url}/c`)).toMatch(/^503 .*no route matches its fallback/)
  })

  it('keeps the slots of both routes until the response has been sent, and frees both', async () => {
    const good = await upstream(() => 200)
    const url = await start(`
gateway:
  listen: 0
  routes:
    - id: a
      uri: ${await deadUrl()}
      predicates: [Path=/a]
      filters: [{ name: ConcurrencyLimiter, args: { limit: 1 } }, ${breaker('fallbackUri: /sorry')}]
    - { id: sorry, uri: '${good.url}', predicates: [Path=/sorry], filters: [{ name: ConcurrencyLimiter, args: { limit: 1 } }] }
`)
    for (let i = 0; i < 3; i++) expect(await textOf(`${url}/a`)).toBe('200 from /sorry')
    expect(await textOf(`${url}/sorry`)).toBe('200 from /sorry')
  })
})

describe('gateway.cors', () => {
  it('allows every page to read responses without credentials, and does not count preflights', async () => {
    const good = await upstream(() => 200)
    const url = await start(`
gateway:
  listen: 0
  cors: { /api/**: { allowedOrigins: '*', allowedMethods: '*', exposedHeaders: X-Version, maxAge: 10m } }
  routes: [{ uri: '${good.url}', filters: [{ name: FixedWindowRateLimiter, args: { limit: 1 } }] }]
`)
    const preflight = { origin: 'https://any.test', 'access-control-request-method': 'PATCH' }
    const answer = await fetch(`${url}/api/a`, { method: 'OPTIONS', headers: preflight })
    expect([answer.status, answer.headers.get('access-control-max-age')]).toStrictEqual([204, '600'])
    const headers = { origin: 'https://any.test' }
    const [first, second] = [
      await fetch(`${url}/api/a`, { headers }),
      await fetch(`${url}/api/a`, { headers }),
    ]
    expect([first.status, second.status]).toStrictEqual([200, 429])
    for (const response of [first, second]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
      expect(response.headers.get('access-control-expose-headers')).toMatch(
        /^X-Version, Retry-After, RateLimit/,
      )
    }
    // Another path has no rule: a preflight is a request like any other.
    expect((await fetch(`${url}/other`, { method: 'OPTIONS', headers: preflight })).status).toBe(429)
    // Headers that a page may not set.
    const wanted = { ...preflight, 'access-control-request-headers': 'x-a' }
    expect((await fetch(`${url}/api/a`, { method: 'OPTIONS', headers: wanted })).status).toBe(403)
  })

  it('separates responses in shared caches by origin, also without Origin and of rejected pages', async () => {
    const good = await upstream(() => 200)
    const url = await start(`
gateway:
  listen: 0
  cors: { /api/**: { allowedOrigins: 'https://app.test', allowedMethods: '*' } }
  routes:
    - uri: no://op
      predicates: [Path=/api/redirect]
      filters: ['RedirectTo=302, /new', 'AddResponseHeader=Vary, Accept-Language']
    - { uri: '${good.url}', filters: [{ name: FixedWindowRateLimiter, args: { limit: 4 } }] }
`)
    const varyOf = async (path: string, headers = {}) => {
      const response = await fetch(`${url}${path}`, { headers, redirect: 'manual' })
      return [response.status, response.headers.get('vary')]
    }
    expect(await varyOf('/api/a')).toStrictEqual([200, 'Origin'])
    expect(await varyOf('/api/a', { origin: url })).toStrictEqual([200, 'Origin'])
    expect(await varyOf('/api/a', { origin: 'https://app.test' })).toStrictEqual([200, 'Origin'])
    expect(await varyOf('/api/a', { origin: 'https://other.test' })).toStrictEqual([403, 'Origin'])
    expect(await varyOf('/other')).toStrictEqual([200, null])
    expect(await varyOf('/api/a')).toStrictEqual([429, 'Origin'])
    expect(await varyOf('/api/redirect')).toStrictEqual([302, 'Accept-Language, Origin'])
  })
})
