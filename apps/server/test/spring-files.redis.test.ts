import { readFileSync } from 'node:fs'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../src/config/load.js'
import { deadUrl, type TestUpstream, upstreamOf } from './gateway.js'
import { configFile, startProcess } from './process.js'
import { startService, type TestService } from './start-service.js'

// Files as Spring projects have them, each with a real service, gateway, upstream and Redis.

const fileOf = (name: string) => readFileSync(new URL(`spring-files/${name}.yml`, import.meta.url), 'utf8')

let redis: RedisServer
let redisPort = ''
let upstream: TestUpstream
let dead = ''
let seen: string[] = []
let service: TestService | undefined
beforeAll(async () => {
  redis = await startRedis()
  redisPort = new URL(redis.url).port
  dead = await deadUrl()
  upstream = await upstreamOf((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.setHeader('x-served-by', ['first', 'second'])
    response.setHeader('access-control-allow-origin', 'https://of-the-upstream.test')
    response.end(`upstream ${request.url}`)
  })
})
beforeEach(() => {
  seen = []
})
afterEach(async () => {
  await service?.close()
  service = undefined
})
afterAll(async () => {
  await upstream?.close()
  await redis?.stop()
})

/** With long timeouts, so that a busy machine is not taken for an outage. */
async function start(yaml: string, env: Record<string, string> = {}): Promise<string> {
  const patient = `${yaml}\nstore: { deadline: 10s, connectTimeout: 10s }\n`
  service = await startService(patient, 0, { UPSTREAM: upstream.url, DEAD: dead, SERVER_PORT: '0', ...env })
  return service.service.gateway!.url
}

/** The warnings of a file as `line path`, and its unused options. */
function noticesOf(yaml: string, env: Record<string, string> = {}) {
  const loaded = loadConfig({ text: yaml, env: { UPSTREAM: upstream.url, DEAD: dead, ...env } })
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  const { warnings, unused } = loaded.config.notices
  return { warnings: warnings.map(({ path, message }) => `${path}: ${message}`), unused }
}

const textOf = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init)
  return `${response.status} ${await response.text()}`
}

describe("the study guide's application.yml", () => {
  it('starts unchanged, counts in its Redis, and denies', async () => {
    const yaml = fileOf('study-guide')
    const loaded = loadConfig({ text: yaml, env: {} })
    if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
    const { gateway, store, port, notices } = loaded.config
    expect(gateway!.listen).toMatchObject({ host: '127.0.0.1', port: 8080 })
    // The gateway has taken the port of the service.
    expect(port).toBe(9080)
    expect(store).toMatchObject({ kind: 'redis', url: 'redis://localhost:6379' })
    expect(notices).toMatchObject({ warnings: [], unused: ['spring.application', 'logging'] })

    const env = { SPRING_DATA_REDIS_PORT: redisPort, SPRING_DATA_REDIS_HOST: '127.0.0.1' }
    const url = await start(yaml.replace('http://localhost:8081', upstream.url), env)
    const headers = { 'x-user-id': 'study-guide' }
    const first = await fetch(`${url}/api/test`, { headers })
    expect([first.status, first.headers.get('x-ratelimit-remaining')]).toStrictEqual([200, '99'])
    const startMs = performance.now()
    const statuses: number[] = [first.status]
    for (let i = 0; i < 10 && !statuses.includes(429); i++) {
      const more = Array.from({ length: 40 }, () => fetch(`${url}/api/test`, { headers }))
      for (const response of await Promise.all(more)) statuses.push(response.status)
    }
    const refilled = Math.ceil((performance.now() - startMs) / 100)
    expect(statuses).toContain(429)
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(100 + refilled)
    expect(service!.service.startConfig.store).toMatchObject({ url: `redis://127.0.0.1:${redisPort}` })
  })
})

describe('clinic.yml', () => {
  it('routes to the instances of a service, and to fallbacks', async () => {
    const url = await start(fileOf('clinic'))
    expect(await textOf(`${url}/api/doctor/list?a=1`)).toBe('200 upstream /list?a=1')
    expect(await textOf(`${url}/api/assistant/ask?q=1`)).toBe('200 upstream /sorry?q=1')
    const post = { method: 'POST', body: 'x'.repeat(100_000), headers: { 'content-type': 'text/plain' } }
    expect(await textOf(`${url}/api/assistant/ask`, post)).toBe('200 upstream /sorry')
    expect(seen.at(-1)).toBe('POST /sorry')
  })

  it('lists missing features: other files, and controllers of the application', () => {
    const { warnings, unused } = noticesOf(fileOf('clinic'))
    expect(warnings).toStrictEqual([
      expect.stringMatching(/^spring\.config\.import: is not read/),
      expect.stringMatching(/no route matches \/fallback, the fallback of doctors, so clients get 503/),
      expect.stringMatching(/no route matches \/fallback, the fallback of sorry/),
    ])
    expect(unused).toStrictEqual(['the document for profile container', 'spring.application'])
  })

  it('has the documents of the active profiles', () => {
    const timeoutOf = (env: Record<string, string>) => {
      const loaded = loadConfig({
        text: fileOf('clinic'),
        env: { UPSTREAM: upstream.url, DEAD: dead, ...env },
      })
      return 'config' in loaded ? loaded.config.gateway!.routes[0]!.timeouts.connectMs : loaded.errors
    }
    expect(timeoutOf({})).toBe(5000)
    expect(timeoutOf({ SPRING_PROFILES_ACTIVE: 'container' })).toBe(1500)
  })
})

describe('bookshop.yml', () => {
  const env = () => ({
    SPRING_REDIS_PORT: redisPort,
    BOOKS_URL: upstream.url,
    ORDERS_URL: dead,
    SPRING_REDIS_PASSWORD: '',
  })
  const yaml = () => fileOf('bookshop').replace('    password: 1234567890\n', '')

  it('counts in its Redis by the address of the client, on every route', async () => {
    const url = await start(yaml(), env())
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await fetch(`${url}/books/1`)).status)
    expect(statuses).toStrictEqual([200, 200, 200, 429])
  })

  it('opens the breaker of an upstream that fails: no more requests, 503 at once', async () => {
    const url = await start(
      yaml().replace('burstCapacity: 3', 'burstCapacity: 100').replaceAll('_service', '_two'),
      env(),
    )
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await fetch(`${url}/orders/1`)).status)
    expect(statuses).toStrictEqual([503, 503, 503, 503])
    expect(service!.logged.map(({ msg }) => msg)).toContain(
      'Circuit breaker opened; no requests are sent to the upstream',
    )
    expect((await fetch(`${url}/books/1`)).status).toBe(200)
  })

  it('lists missing features, and reads timeouts, passwords and numbers as Spring does', () => {
    const { warnings, unused } = noticesOf(fileOf('bookshop'))
    expect(warnings.join('\n')).toMatch(/SaveSession is ignored.*\n.*the client's address is counted/)
    expect(unused).toContain('spring.session')
    const loaded = loadConfig({ text: fileOf('bookshop'), env: {} })
    if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
    expect(loaded.config.store).toMatchObject({ options: { password: '1234567890', connectTimeoutMs: 5000 } })
    expect(loaded.config.gateway!.routes[0]!.timeouts).toMatchObject({ connectMs: 2000, headersMs: 5000 })
  })
})

describe('products.yml', () => {
  it('routes by dotted keys, properties and hosts with a port', async () => {
    const url = await start(fileOf('products'), { REGISTRY_PORT: new URL(upstream.url).port })
    expect(await textOf(`${url}/registry/api/apps`)).toBe('200 upstream /registry/apps')
    expect(await textOf(`${url}/by-host/x`)).toBe('200 upstream /501')
    const loaded = service!.service.startConfig.gateway!
    expect(loaded.routes.map(({ id }) => id)).toStrictEqual(['registry-api', 'lucky', 'others'])
  })

  it('takes another host from the document of a profile', () => {
    const loaded = loadConfig({
      text: fileOf('products'),
      env: { REGISTRY_PORT: '1' },
      profiles: 'container',
    })
    if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
    expect(loaded.config.gateway!.routes[0]!.upstreams).toStrictEqual(['http://registry:1'])
  })
})

describe('mall.yml', () => {
  it('routes, and keeps one of several headers', async () => {
    const url = await start(fileOf('mall'), { SPRING_REDIS_PORT: redisPort })
    const response = await fetch(`${url}/mall-auth/v3/api-docs`)
    expect(await response.text()).toBe('upstream /api-docs')
    expect(response.headers.get('x-served-by')).toBe('first')
  })

  it('warns that the gateway does not authenticate requests', async () => {
    const { warnings, unused } = noticesOf(fileOf('mall'))
    expect(warnings).toStrictEqual([
      expect.stringMatching(/discovery\.locator\.enabled: has no effect/),
      expect.stringMatching(/^spring\.security: has no effect: the gateway does not authenticate requests/),
      expect.stringMatching(/^secure: has no effect: the gateway does not authenticate requests/),
    ])
    expect(unused).toContain('mall')
  })
})

describe('tidegate start with a Spring file', () => {
  it('logs each warning, and the names of all unused sections once', async () => {
    const file = configFile(fileOf('mall'))
    const env = { UPSTREAM: upstream.url, SPRING_REDIS_PORT: redisPort }
    const started = await startProcess(['--config', file.path], env)
    try {
      const logged = started.log()
      const ofSecurity = logged.filter(({ option }) => option === 'spring.security')
      expect(ofSecurity).toMatchObject([
        { level: 'warn', line: 30, msg: expect.stringContaining('does not authenticate') },
      ])
      const names = logged.filter(({ unused }) => unused !== undefined)
      expect(names).toMatchObject([
        { profiles: ['local'], unused: expect.arrayContaining(['spring.main', 'mall']) },
      ])
    } finally {
      await started.stop()
      file.remove()
    }
  })
})

describe('realtime.yml', () => {
  const ignoring = `${fileOf('realtime')}\ngateway: { ignoreFilters: [RoleCheck] }\n`
  const env = () => ({ REDIS_PORT: redisPort })
  const origin = 'https://app.shop.test'
  let url = ''
  let shared: TestService | undefined
  beforeAll(async () => {
    url = await start(ignoring, env())
    shared = service
    service = undefined
  })
  afterAll(() => shared?.close())

  it('does not start while a filter is unknown, which may protect its route', () => {
    const loaded = loadConfig({ text: fileOf('realtime'), env: { UPSTREAM: upstream.url } })
    expect('errors' in loaded && loaded.errors.map(({ message }) => message)).toStrictEqual([
      expect.stringMatching(/unknown filter "RoleCheck"; .*write gateway: { ignoreFilters: \[RoleCheck\] }/),
      expect.stringMatching(/RoleCheck/),
    ])
  })

  it('starts if the file ignores the filter, and warns', async () => {
    const { warnings } = noticesOf(ignoring)
    expect(warnings.filter((text) => text.includes('the filter RoleCheck is ignored'))).toHaveLength(2)
    expect(await textOf(`${url}/svc/orders/health`)).toBe('200 upstream /health')
  })

  it('responds to preflights without counting them', async () => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-a, x-b',
    }
    for (let i = 0; i < 10; i++) {
      const response = await fetch(`${url}/api/v1/prices/1`, { method: 'OPTIONS', headers })
      expect(response.status).toBe(204)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, POST, OPTIONS',
        'access-control-allow-headers': 'x-a, x-b',
        'access-control-max-age': '3600',
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      })
    }
    expect(seen).toStrictEqual([])
    const response = await fetch(`${url}/api/v1/prices/1`, { headers: { origin } })
    expect([response.status, response.headers.get('x-ratelimit-remaining')]).toStrictEqual([200, '1'])
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('vary')).toBe('Origin')
  })

  it('allows pages to read denials, their headers and other errors', async () => {
    let denial = await fetch(`${url}/api/v1/prices/2`, { headers: { origin } })
    for (let i = 0; i < 5 && denial.status !== 429; i++)
      denial = await fetch(`${url}/api/v1/prices/2`, { headers: { origin } })
    expect(denial.status).toBe(429)
    expect(denial.headers.get('access-control-allow-origin')).toBe(origin)
    const exposed = denial.headers.get('access-control-expose-headers')!.split(', ')
    expect(exposed).toEqual(
      expect.arrayContaining(['X-Request-Id', 'Retry-After', 'RateLimit', 'X-RateLimit-Remaining']),
    )
    for (const name of ['retry-after', 'ratelimit', 'x-ratelimit-remaining'])
      expect(denial.headers.has(name)).toBe(true)
    const missing = await fetch(`${url}/nowhere`, { headers: { origin } })
    expect([missing.status, missing.headers.get('access-control-allow-origin')]).toStrictEqual([404, origin])
  })

  it.each([
    ['another origin', 'GET', { origin: 'https://evil.test' }],
    ['an origin that only looks similar', 'GET', { origin: 'https://shop.test.evil.test' }],
    ['a method that is not allowed', 'DELETE', { origin }],
    [
      'a preflight of another origin',
      'OPTIONS',
      { origin: 'https://evil.test', 'access-control-request-method': 'GET' },
    ],
    ['a preflight for another method', 'OPTIONS', { origin, 'access-control-request-method': 'DELETE' }],
  ])('rejects %s with 403 without counting it', async (_title, method, headers) => {
    const response = await fetch(`${url}/api/v1/prices/3`, { method, headers })
    expect(response.status).toBe(403)
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
    expect(response.headers.has('x-ratelimit-limit')).toBe(false)
    expect(seen).toStrictEqual([])
  })

  it('does not change requests of the same origin or without an origin', async () => {
    const same = await fetch(`${url}/api/v1/prices/1/stream`, { method: 'DELETE', headers: { origin: url } })
    expect([same.status, same.headers.get('access-control-allow-origin')]).toStrictEqual([
      200,
      'https://of-the-upstream.test',
    ])
    expect((await fetch(`${url}/api/v1/prices/1/stream`)).status).toBe(200)
  })
})
