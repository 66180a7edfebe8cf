import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../test/gateway-request.js'
import { configErrorsIn, gatewayOf } from '../../../test/gateway-routes.js'
import { loadConfig } from '../../config/load.js'
import { createRouter } from '../routing/router.js'

/** A list of routes with shortcuts, and the same with names and arguments. */
const SHORT = `
- id: rate-limited
  uri: http://localhost:8081
  order: 1
  predicates:
    - Path=/api/{version}/**
    - Method=GET,POST
    - Host=**.example.org,example.org
    - Header=X-Request-Id, \\d+
    - Cookie=session, [a-z]+
    - Query=page, \\d*
    - RemoteAddr=192.0.2.0/24
    - After=2017-01-20T17:42:47.789-07:00[America/Denver]
  filters:
    - StripPrefix=1
    - PrefixPath=/internal
    - AddRequestHeader=X-Version, {version}
    - SetResponseHeader=X-Served-By, gateway
    - RemoveRequestHeader=Cookie
    - RewritePath=/internal/?(?<rest>.*), /$\\{rest}
    - RequestSize=1MB
    - PreserveHostHeader
    - Retry=2, BAD_GATEWAY, GET, 5ms, 50ms, 2, true
    - name: RequestRateLimiter
      args:
        redis-rate-limiter.replenishRate: 10
        redis-rate-limiter.burstCapacity: 20
        redis-rate-limiter.requestedTokens: 2
        key-resolver: "#{@userKeyResolver}"
- id: heavy
  uri: https://heavy.example.org
  predicates: [ "Path=/weighted/**", "Weight=group1, 8" ]
- id: light
  uri: https://light.example.org
  predicates: [ "Path=/weighted/**", "Weight=group1, 2" ]
  metadata: { connect-timeout: 200, response-timeout: 300, note: anything }
- id: sockets
  uri: ws://localhost:9000
  predicates: [ Path=/ws/** ]
- id: moved
  uri: no://op
  predicates: [ "Before=2099-01-01T00:00:00Z", Path=/old ]
  filters: [ "RedirectTo=301, https://acme.example/new" ]
`

const LONG = `
- id: rate-limited
  uri: http://localhost:8081
  order: 1
  predicates:
    - name: Path
      args: { patterns: ["/api/{version}/**"] }
    - name: Method
      args: { methods: "GET,POST" }
    - name: Host
      args: { _genkey_0: "**.example.org", _genkey_1: example.org }
    - name: Header
      args: { header: X-Request-Id, regexp: \\d+ }
    - name: Cookie
      args: { name: session, regexp: "[a-z]+" }
    - name: Query
      args: { param: page, regexp: "\\\\d*" }
    - name: RemoteAddr
      args: { sources: [192.0.2.0/24] }
    - name: After
      args: { datetime: "2017-01-20T17:42:47.789-07:00[America/Denver]" }
  filters:
    - name: StripPrefix
      args: { _genkey_0: 1 }
    - name: PrefixPath
      args: { prefix: /internal }
    - name: AddRequestHeader
      args: { name: X-Version, value: "{version}" }
    - name: SetResponseHeader
      args: { _genkey_0: X-Served-By, _genkey_1: gateway }
    - name: RemoveRequestHeader
      args: { name: Cookie }
    - name: RewritePath
      args: { regexp: "/internal/?(?<rest>.*)", replacement: "/$\\\\{rest}" }
    - name: RequestSize
      args: { maxSize: 1048576 }
    - name: PreserveHostHeader
    - name: Retry
      args:
        retries: 2
        statuses: BAD_GATEWAY
        methods: GET
        backoff: { firstBackoff: 5ms, maxBackoff: 50ms, factor: 2, basedOnPreviousValue: true }
    - name: RequestRateLimiter
      args:
        keyResolver: "#{@userKeyResolver}"
        redis-rate-limiter: { replenish-rate: 10, burst-capacity: 20, requested-tokens: 2 }
- id: heavy
  uri: https://heavy.example.org
  predicates:
    - { name: Path, args: { pattern: "/weighted/**" } }
    - { name: Weight, args: { weight.group: group1, weight.weight: 8 } }
- id: light
  uri: https://light.example.org
  predicates:
    - { name: Path, args: { pattern: "/weighted/**" } }
    - { name: Weight, args: { _genkey_0: group1, _genkey_1: 2 } }
  metadata: { connect-timeout: 200, response-timeout: 300, note: anything }
- id: sockets
  uri: ws://localhost:9000
  predicates: [ { name: Path, args: { pattern: /ws/** } } ]
- id: moved
  uri: no://op
  predicates:
    - { name: Before, args: { datetime: "2099-01-01T00:00:00Z" } }
    - { name: Path, args: { pattern: /old } }
  filters:
    - { name: RedirectTo, args: { status: MOVED_PERMANENTLY, url: https://acme.example/new } }
`

const DEFAULTS = '[ "AddResponseHeader=X-Response-Default-Red, Default-Blue" ]'

function indented(list: string, by: number): string {
  return list.replaceAll('\n', `\n${' '.repeat(by)}`)
}

const PLACES: readonly [string, (list: string) => string][] = [
  ['gateway', (list) => `gateway:\n  defaultFilters: ${DEFAULTS}\n  routes:${indented(list, 4)}`],
  [
    'gateway, with default-filters',
    (list) => `gateway:\n  default-filters: ${DEFAULTS}\n  routes:${indented(list, 4)}`,
  ],
  [
    'spring.cloud.gateway',
    (list) =>
      `spring:\n  cloud:\n    gateway:\n      default-filters: ${DEFAULTS}\n      routes:${indented(list, 8)}`,
  ],
  [
    'spring.cloud.gateway.server.webflux',
    (list) =>
      `spring:\n  cloud:\n    gateway:\n      server:\n        webflux:\n          default-filters: ${DEFAULTS}\n          routes:${indented(list, 12)}`,
  ],
]

describe.each(PLACES)("Spring's routes under %s", (_, fileOf) => {
  it.each([
    ['shortcuts', SHORT],
    ['names and arguments', LONG],
  ])('are read, written with %s', (_, list) => {
    const { routes, policies } = gatewayOf(fileOf(list))
    expect(
      routes.map(({ id, order, upstreams, webSocket }) => [id, order, upstreams, webSocket]),
    ).toStrictEqual([
      ['rate-limited', 1, ['http://localhost:8081'], false],
      ['heavy', 0, ['https://heavy.example.org'], false],
      ['light', 0, ['https://light.example.org'], false],
      ['sockets', 0, ['http://localhost:9000'], true],
      ['moved', 0, [], false],
    ])
    expect(policies).toHaveLength(1)
    expect(policies[0]).toMatchObject({ name: 'rate-limited-requests', capacity: 20, refillRate: 10 })
    const [limited, , light, , moved] = routes
    expect(limited!.limits.limits).toMatchObject([{ cost: 2, emptyKeyStatus: 403 }])
    expect(limited).toMatchObject({ maxBodyBytes: 1_048_576, preserveHost: true, retry: { retries: 2 } })
    expect(light!.timeouts).toStrictEqual({ connectMs: 200, headersMs: 300, bodyMs: 30_000 })
    expect(moved!.fixedResponse).toStrictEqual({
      status: 301,
      headers: { location: 'https://acme.example/new' },
    })

    const request = gatewayRequest({
      target: '/api/v1/users?page=2',
      headers: { host: 'a.example.org', 'x-request-id': '7', cookie: 'session=abc' },
      timeMs: Date.parse('2030-01-01T00:00:00Z'),
    })
    const router = createRouter(
      routes.map((route) => ({ ...route, route })),
      () => 0.9,
    )
    expect(router.find(request)).toBe(limited)
    expect(router.find(gatewayRequest({ target: '/weighted/x' }))).toBe(light)
    expect(router.find(gatewayRequest({ target: '/old' }))).toBe(moved)
    expect(router.find(gatewayRequest({ target: '/api/v1/users' }))).toBeUndefined()

    const forward = {
      request,
      path: request.path,
      query: request.query,
      headers: new Map([['cookie', 'session=abc']]),
    }
    for (const filter of limited!.requestFilters) filter(forward)
    expect([forward.path, forward.query, [...forward.headers]]).toStrictEqual([
      '/v1/users',
      'page=2',
      [['x-version', 'v1']],
    ])
    const head = { status: 200, headers: new Map<string, string | string[]>() }
    for (const filter of limited!.responseFilters) filter(head, request)
    expect([...head.headers]).toStrictEqual([
      ['x-response-default-red', 'Default-Blue'],
      ['x-served-by', 'gateway'],
    ])
  })
})

describe('the gateway configuration', () => {
  it('is undefined without routes, and may be in several sections at once', () => {
    const without = loadConfig({ text: 'port: 8081', env: {} })
    expect('config' in without && without.config.gateway).toBeUndefined()
    const route = (id: string) => `[{ id: ${id}, uri: "http://localhost:1", predicates: [Path=/a] }]`
    const { routes } = gatewayOf(
      `gateway: { routes: ${route('a')} }\nspring: { cloud: { gateway: { routes: ${route('b')}, server: { webflux: { routes: ${route('c')} } } } } }`,
    )
    expect(routes.map(({ id }) => id)).toStrictEqual(['a', 'b', 'c'])
  })

  it.each([
    ['', { host: '127.0.0.1', port: 8000, tls: undefined, http2: false }],
    ['listen: 9000', { host: '127.0.0.1', port: 9000 }],
    ['listen: "9000"', { host: '127.0.0.1', port: 9000 }],
    ['listen: 0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
    ['listen: "[::1]:80"', { host: '::1', port: 80 }],
    ['listen: { port: 0 }', { host: '127.0.0.1', port: 0 }],
    [
      'listen: { host: "::", port: 8443, http2: true, tls: { certFile: c.pem, keyFile: k.pem } }',
      { host: '::', port: 8443, http2: true, tls: { certFile: 'c.pem', keyFile: 'k.pem' } },
    ],
  ])('listens on the configured address: %s', (line, listen) => {
    const gateway = gatewayOf(`gateway:\n  ${line}\n  routes: [{ uri: "http://localhost:1" }]`)
    expect(gateway.listen).toMatchObject(listen)
  })

  it('limits connections: by default a tenth of the maximum for one client', () => {
    const connectionsOf = (line: string) =>
      gatewayOf(`gateway:\n  ${line}\n  routes: [{ uri: "http://localhost:1" }]`).connections
    expect(connectionsOf('accessLog: off')).toStrictEqual({ max: 10_000, maxPerClient: 1000 })
    expect(connectionsOf('connections: { max: 500 }')).toStrictEqual({ max: 500, maxPerClient: 50 })
    expect(connectionsOf('connections: { max: 5 }')).toStrictEqual({ max: 5, maxPerClient: 1 })
    expect(connectionsOf('connections: { maxPerClient: 7 }')).toStrictEqual({ max: 10_000, maxPerClient: 7 })
    expect(
      configErrorsIn(
        'gateway: { connections: { max: 5, maxPerClient: 6 }, routes: [{ uri: "http://a:1" }] }',
      ),
    ).toStrictEqual([expect.stringContaining('gateway.connections.maxPerClient: must be at most max')])
  })

  it('has timeouts, which a route may override', () => {
    const { routes, maxConnections, minBodyRate, accessLog } = gatewayOf(`
gateway:
  connectTimeout: 1s
  headersTimeout: 2s
  bodyTimeout: 3s
  maxConnections: 7
  minBodyRate: 0
  accessLog: combined
  routes:
    - { uri: "http://localhost:1" }
    - { uri: "http://localhost:2", connectTimeout: 10ms, headersTimeout: 20ms, bodyTimeout: 30ms, metadata: { response-timeout: 5 } }
    - { uri: "http://localhost:3", metadata: { response-timeout: "5" } }
`)
    expect(routes.map(({ timeouts }) => Object.values(timeouts))).toStrictEqual([
      [1000, 2000, 3000],
      [10, 20, 30],
      [1000, 5, 3000],
    ])
    expect([maxConnections, minBodyRate, accessLog]).toStrictEqual([7, 0, 'combined'])
  })

  it('has health checks and WebSockets', () => {
    const { routes } = gatewayOf(`
gateway:
  routes:
    - { uri: ["http://a:1", "http://b:1"], healthCheck: { path: "/health//x?full=1" }, webSocket: true }
    - { uri: "wss://c:1", healthCheck: { path: /ok, interval: 1s, timeout: 500ms } }
`)
    expect(routes.map(({ healthCheck }) => healthCheck)).toStrictEqual([
      { path: '/health/x?full=1', intervalMs: 10_000, timeoutMs: 2000 },
      { path: '/ok', intervalMs: 1000, timeoutMs: 500 },
    ])
    expect(routes.map(({ webSocket }) => webSocket)).toStrictEqual([true, true])
    expect(routes[1]!.upstreams).toStrictEqual(['https://c:1'])
  })

  it('derives a default id from the route alone', () => {
    const ids = (...ports: number[]) =>
      gatewayOf(
        `gateway: { routes: [${ports.map((port) => `{ uri: "http://localhost:${port}" }`).join(', ')}] }`,
      ).routes.map(({ id }) => id)
    const [first, second] = ids(1, 2)
    expect(first).toMatch(/^route-[\da-f]{8}$/)
    expect(ids(3, 2, 1).slice(1)).toStrictEqual([second, first])
    expect(ids(1, 1)).toStrictEqual([first, `${first}-2`])
  })

  it('gives the policies of filters unique names, whatever the id of the route', () => {
    const ids = ['api', 'API', 'api/v1', '사용자', '_x', 'a'.repeat(64), `${'a'.repeat(64)}b`, 'constructor']
    const routes = ids.map(
      (id) =>
        `    - { id: ${JSON.stringify(id)}, uri: "http://localhost:1", filters: [TokenBucketRateLimiter, { name: TokenBucketRateLimiter, args: { capacity: 5 } }, SlidingWindowCounterRateLimiter] }`,
    )
    const names = gatewayOf(['gateway:', '  routes:', ...routes].join('\n')).policies.map(({ name }) => name)
    expect(names.slice(0, 3)).toStrictEqual([
      'api-token-bucket',
      'api-token-bucket-2',
      'api-sliding-window-counter',
    ])
    expect(new Set(names).size).toBe(ids.length * 3)
    for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/)
  })

  it('gives a default filter one policy per route', () => {
    const { policies } = gatewayOf(
      'gateway: { defaultFilters: [FixedWindowRateLimiter], routes: [{ id: a, uri: "http://localhost:1" }, { id: b, uri: "http://localhost:1" }] }',
    )
    expect(policies.map(({ name }) => name)).toStrictEqual(['a-fixed-window', 'b-fixed-window'])
  })

  it('accepts key resolvers as expressions and templates, which may replace the built-in one', () => {
    const file = (resolver: string) => `
gateway:
  keyResolvers:
    userKeyResolver: ip
    byUserAndPath: "{header.x-user-id | 'anonymous'}:{path}"
  routes: [{ uri: "http://localhost:1", filters: [{ name: FixedWindowRateLimiter, args: { key-resolver: "${resolver}" } }] }]
`
    const keyBy = (resolver: string) =>
      gatewayOf(file(resolver)).routes[0]!.limits.limits[0]!.key.resolve(
        gatewayRequest({ target: '/a', headers: { 'x-user-id': 'alice' } }),
      )
    expect(keyBy('#{@userKeyResolver}')).toBe('192.0.2.1')
    expect(keyBy('userKeyResolver')).toBe('192.0.2.1')
    expect(keyBy('#{@byUserAndPath}')).toBe('alice:/a')
    expect(configErrorsIn(file('#{@byUserAndPth}'))[0]).toContain('did you mean "byUserAndPath"?')
  })

  it('counts by the default policy for a RateLimiter without a policy', () => {
    const { routes } = gatewayOf(`
default: per-user
policies: { per-user: { algorithm: fixed-window, limit: 7, window: 1m } }
spring:
  cloud:
    gateway:
      routes:
        - id: api-route
          uri: http://localhost:8081
          predicates:
            - Path=/api/**
          filters:
            - name: RateLimiter
              args:
                key-resolver: "#{@userKeyResolver}"
`)
    expect(routes[0]!.limits.limits[0]!.policy.name).toBe('per-user')
  })
})
