import { canonicalPath } from '@tidegate/http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../../test/gateway-request.js'
import { configErrorsIn, fileOf, gatewayOf } from '../../../../test/gateway-routes.js'
import { type Forward, NoCanonicalPath, type ResponseHead } from '../../route.js'

const ANY_PATH = ['Path=/{first}/**,/**']

function routeWith(filters: readonly string[], predicates: readonly string[] = ANY_PATH) {
  const [route] = gatewayOf(fileOf(predicates, filters)).routes
  return route!
}

/** The forwarded request. */
function sent(filters: readonly string[], target: string, predicates?: readonly string[]): Forward {
  const request = gatewayRequest({ target, headers: { host: 'a.example.org' } })
  const forward: Forward = {
    request,
    path: request.path,
    query: request.query,
    headers: new Map([
      ['x-there', 'before'],
      ['x-gone', 'x'],
    ]),
  }
  for (const filter of routeWith(filters, predicates).requestFilters) filter(forward)
  return forward
}

/** The response head. */
function answered(filters: readonly string[]): ResponseHead {
  const head: ResponseHead = {
    status: 200,
    headers: new Map([
      ['x-there', 'before'],
      ['x-gone', 'x'],
    ]),
  }
  for (const filter of routeWith(filters).responseFilters) filter(head, gatewayRequest({ target: '/red/1' }))
  return head
}

describe('path filters', () => {
  it.each([
    ['StripPrefix=0', '/a/b/c', '/a/b/c'],
    ['StripPrefix=1', '/a/b/c', '/b/c'],
    ['StripPrefix=2', '/a/b/c', '/c'],
    ['StripPrefix=3', '/a/b/c', '/'],
    ['StripPrefix=4', '/a/b/c', '/'],
    ['StripPrefix=1', '/', '/'],
    ['{ name: StripPrefix, args: { parts: 1 } }', '/a/b', '/b'],
    ['{ name: StripPrefix, args: { _genkey_0: 1 } }', '/a/b', '/b'],
    ['PrefixPath=/mypath', '/a', '/mypath/a'],
    ['PrefixPath=/mypath', '/', '/mypath'],
    ['PrefixPath=/my path', '/a', '/my%20path/a'],
    ['PrefixPath=/x/{first}', '/a/b', '/x/a/a/b'],
    ['SetPath=/{first}', '/red/blue', '/red'],
    ['SetPath=/new/place/', '/red/blue', '/new/place'],
    ['RewritePath=/red/?(?<segment>.*), /$\\{segment}', '/red/blue/1', '/blue/1'],
    ['RewritePath=/red/?(?<segment>.*), /$\\{segment}', '/red', '/'],
    ['{ name: RewritePath, args: { regexp: ^/red, replacement: "" } }', '/red/blue', '/blue'],
    ['{ name: RewritePath, args: { regexp: ^/red, replacement: "" } }', '/red', '/'],
    ['RewritePath=/red(/?.*), /blue$1', '/red/1', '/blue/1'],
    ['RewritePath=/(a)(b)?, /$2$1', '/a', '/a'],
    ['RewritePath=/a, /b\\$', '/a', '/b$'],
    ['RewritePath=a, b', '/a/a', '/b/b'],
    ['RewritePath=/never, /x', '/a', '/a'],
    ['RewritePath=^/v\\d+, /', '/v1/a', '/a'],
  ])('%s: %s is forwarded as %s', (filter, target, path) => {
    const forward = sent([filter], `${target}?q=1`)
    expect([forward.path, forward.query]).toStrictEqual([path, 'q=1'])
  })

  it('apply to the result of the previous filter', () => {
    expect(sent(['StripPrefix=1', 'PrefixPath=/v2'], '/api/users').path).toBe('/v2/users')
  })

  it('reject a result without a canonical form', () => {
    // Each part is harmless.
    const climbing = 'RewritePath=/x(?<a>.*), /..$\\{a}/..'
    expect(() => sent([climbing], '/xy')).not.toThrow()
    expect(() => sent(['RewritePath=x, ../..'], '/x')).toThrow(NoCanonicalPath)
    expect(() => sent(['RewritePath=x, %2F'], '/x')).toThrow(NoCanonicalPath)
  })
})

it('filters produce a canonical path, or the request is rejected', () => {
  const segment = fc.constantFrom(
    'a',
    'b',
    '.',
    '..',
    '%2e',
    ';',
    '%3B',
    'x;y',
    'é',
    '%C3%A9',
    '',
    '...',
    '.a',
  )
  const filters = fc.subarray([
    'StripPrefix=1',
    'PrefixPath=/p',
    'RewritePath=a, ..',
    'RewritePath=/b(?<x>.*), $\\{x}',
    'RewritePath=\\., /',
    'SetPath=/{first}/{first}',
  ])
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 6 }), filters, (segments, filters) => {
      const target = `/${segments.map((one) => one.replace('é', encodeURIComponent)).join('/')}`
      if (canonicalPath(target) === undefined) return
      try {
        const { path } = sent(filters, target)
        expect(canonicalPath(path)?.path).toBe(path)
      } catch (error) {
        expect(error).toBeInstanceOf(NoCanonicalPath)
      }
    }),
    { seed: 7, numRuns: 500 },
  )
})

describe('header filters', () => {
  it.each([
    ['AddRequestHeader=X-New, blue', 'x-new', 'blue'],
    ['AddRequestHeader=X-There, blue', 'x-there', ['before', 'blue']],
    ['SetRequestHeader=X-There, blue', 'x-there', 'blue'],
    ['RemoveRequestHeader=X-Gone', 'x-gone', undefined],
    ['AddRequestHeader=X-First, is-{first}', 'x-first', 'is-red'],
    ['AddRequestHeader=X-First, {"a":1}', 'x-first', '{"a":1}'],
    ['{ name: AddRequestHeader, args: { name: X-New, value: "a, b" } }', 'x-new', 'a, b'],
    ['{ name: AddRequestHeader, args: { name: X-New, value: 5 } }', 'x-new', '5'],
  ])('%s changes the request', (filter, name, value) => {
    expect(sent([filter], '/red/1').headers.get(name)).toStrictEqual(value)
  })

  it('resolve names of Host, with an empty value for names that the matching pattern lacks', () => {
    const hosts = ['Host={tenant}.example.org']
    expect(sent(['SetRequestHeader=X-Tenant, {tenant}'], '/', hosts).headers.get('x-tenant')).toBe('a')
    expect(sent(['SetRequestHeader=X-First, {first}'], '/').headers.get('x-first')).toBe('')
  })

  it('match Host in any letter case, and names of variables exactly', () => {
    const { headers } = sent(['SetRequestHeader=X-Sub, {subDomain}'], '/', ['Host={subDomain}.Example.ORG'])
    expect(headers.get('x-sub')).toBe('a')
  })

  it('keep the escapes of a value from the path', () => {
    const { headers } = sent(['SetRequestHeader=X-First, {first}'], '/a%20b%C3%A9/x')
    expect(headers.get('x-first')).toBe('a%20b%C3%A9')
  })

  it.each([
    ['AddResponseHeader=X-New, blue', 'x-new', 'blue'],
    ['AddResponseHeader=X-There, blue', 'x-there', ['before', 'blue']],
    ['AddResponseHeader=X-There, blue, false', 'x-there', 'before'],
    ['SetResponseHeader=X-There, blue', 'x-there', 'blue'],
    ['SetResponseHeader=X-First, {first}', 'x-first', 'red'],
    ['RemoveResponseHeader=X-Gone', 'x-gone', undefined],
  ])('%s changes the response', (filter, name, value) => {
    expect(answered([filter]).headers.get(name)).toStrictEqual(value)
  })
})

describe('other filters', () => {
  it('PreserveHostHeader forwards the host', () => {
    expect(routeWith([]).preserveHost).toBe(false)
    expect(routeWith(['PreserveHostHeader']).preserveHost).toBe(true)
  })

  it.each([
    ['RequestSize', 5 * 1024 * 1024],
    ['RequestSize=1KB', 1024],
    ['{ name: RequestSize, args: { maxSize: 5000000 } }', 5_000_000],
    ['{ name: RequestSize, args: { max-size: 2GB } }', 2 * 1024 ** 3],
  ])('%s bounds a body', (filter, size) => {
    expect(routeWith([filter]).maxBodyBytes).toBe(size)
    expect(routeWith([]).maxBodyBytes).toBeUndefined()
  })

  it.each([
    ['DedupeResponseHeader=x-a x-b', { 'x-a': '1', 'x-b': 'only' }],
    ['DedupeResponseHeader=X-A, RETAIN_LAST', { 'x-a': '2' }],
    ['DedupeResponseHeader=X-A, RETAIN_UNIQUE', { 'x-a': ['1', '2'] }],
  ])('%s', (filter, expected) => {
    const head = {
      status: 200,
      headers: new Map<string, string | string[]>([
        ['x-a', ['1', '1', '2']],
        ['x-b', 'only'],
      ]),
    }
    for (const response of routeWith([filter]).responseFilters) response(head, gatewayRequest())
    expect(Object.fromEntries(head.headers)).toMatchObject(expected)
  })

  it('SecureHeaders adds the headers that the upstream has not sent', () => {
    const head = {
      status: 200,
      headers: new Map<string, string | string[]>([['x-frame-options', 'SAMEORIGIN']]),
    }
    const { responseFilters } = routeWith(['{ name: SecureHeaders, args: { disable: [Referrer-Policy] } }'])
    for (const response of responseFilters) response(head, gatewayRequest())
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'x-frame-options': 'SAMEORIGIN',
      'x-content-type-options': 'nosniff',
    })
    expect(head.headers.has('referrer-policy')).toBe(false)
  })

  it.each([
    ['AddRequestParameter=red, blue & green', '', 'red=blue%20%26%20green'],
    ['AddRequestParameter=red, blue', 'a=1', 'a=1&red=blue'],
    ['RemoveRequestParameter=red', 'red=1&a=2&r%65d=3&red', 'a=2'],
    ['RemoveRequestParameter=red', 'a=2&redder=1', 'a=2&redder=1'],
  ])('%s changes ?%s to ?%s', (filter, before, after) => {
    const forward = { request: gatewayRequest(), path: '/', query: before, headers: new Map() }
    for (const request of routeWith([filter]).requestFilters) request(forward)
    expect(forward.query).toBe(after)
  })

  it.each([
    ['CircuitBreaker=orders', { name: 'orders', fallback: undefined }],
    ['CircuitBreaker', { name: 'one', fallback: undefined }],
    [
      'CircuitBreaker=name=orders,fallbackUri=/a',
      { name: 'orders', fallback: { path: '/a', route: undefined } },
    ],
    [
      '{ name: Hystrix, args: { name: orders, fallback-uri: "forward:/a/b" } }',
      { name: 'orders', fallback: { path: '/a/b' } },
    ],
    [
      '{ name: CircuitBreaker, args: { fallbackUri: "https://b.example/sorry" } }',
      { fallback: { path: '/sorry', route: { upstreams: ['https://b.example'] } } },
    ],
  ])('%s', (filter, expected) => {
    expect(routeWith([filter]).breaker).toMatchObject(expected)
  })

  it('CircuitBreaker counts the configured statuses, by number or name', () => {
    const { breaker } = routeWith(['{ name: CircuitBreaker, args: { statusCodes: [500, "NOT_FOUND"] } }'])
    expect([500, 404, 503].map(breaker!.isFailure)).toStrictEqual([true, true, false])
  })

  it.each([
    ['fallbackUri: "forward:fallback"', '"forward:fallback" is not a valid fallback'],
    ['fallbackUri: "//evil.example/x"', 'is not a valid fallback'],
    ['fallbackUri: "http://u:p@a.example/x"', 'is not a valid fallback'],
    ['resumeWithoutError: true', 'must not be true'],
  ])('CircuitBreaker does not accept %s', (args, message) => {
    expect(configErrorsIn(fileOf([], [`{ name: CircuitBreaker, args: { ${args} } }`]))).toStrictEqual([
      expect.stringContaining(message),
    ])
  })

  it.each([
    ['SetStatus=401', 401],
    ['SetStatus=UNAUTHORIZED', 401],
  ])('%s changes the status', (filter, status) => {
    expect(answered([filter]).status).toBe(status)
    expect(routeWith([filter]).fixedResponse).toBeUndefined()
  })

  it('RedirectTo responds without an upstream', () => {
    const { fixedResponse } = routeWith(['RedirectTo=302, https://acme.example'])
    expect(fixedResponse).toStrictEqual({ status: 302, headers: { location: 'https://acme.example/' } })
  })

  it('SetStatus responds itself on a route without an upstream', () => {
    const [route] = gatewayOf('gateway: { routes: [{ uri: "no://op", filters: [SetStatus=410] }] }').routes
    expect(route).toMatchObject({ upstreams: [], fixedResponse: { status: 410, headers: {} } })
  })

  it('Retry has retries, methods, statuses and backoff', () => {
    const { retry } = routeWith(['Retry=3, INTERNAL_SERVER_ERROR, GET, 10ms, 50ms, 2, false'])
    expect([retry.retries, [...retry.methods]]).toStrictEqual([3, ['GET']])
    expect([500, 503, 404].map(retry.isFailure)).toStrictEqual([true, true, false])
    expect([1, 2, 3, 4, 100].map(retry.backoffMs)).toStrictEqual([10, 20, 40, 50, 50])
  })

  it('Retry accepts lists, and only the configured status classes', () => {
    const only = routeWith([
      '{ name: Retry, args: { statuses: [BAD_GATEWAY, 503], series: [], methods: "GET,HEAD" } }',
    ])
    expect([502, 503, 500].map(only.retry.isFailure)).toStrictEqual([true, true, false])
    expect([...only.retry.methods]).toStrictEqual(['GET', 'HEAD'])
    const { retry } = routeWith([
      '{ name: Retry, args: { statuses: 404, series: CLIENT_ERROR, methods: [PUT] } }',
    ])
    expect([404, 400, 500].map(retry.isFailure)).toStrictEqual([true, true, false])
    expect([...retry.methods]).toStrictEqual(['PUT'])
    expect(retry.backoffMs(1)).toBe(0)
  })

  it('without Retry, safe requests are sent once to each other upstream after a failure, but not because of a status', () => {
    const [route] = gatewayOf(
      'gateway: { routes: [{ uri: ["http://a:1", "http://b:1", "http://c:1"] }] }',
    ).routes
    expect(route!.retry.retries).toBe(2)
    expect([...route!.retry.methods]).toStrictEqual(['GET', 'HEAD', 'OPTIONS'])
    expect(route!.retry.isFailure(503)).toBe(false)
    expect(routeWith([]).retry).toMatchObject({ retries: 0, retriesIfLost: 1 })
  })
})

describe('the limiters', () => {
  const policyOf = (filter: string) => gatewayOf(fileOf(['Path=/**'], [filter])).policies[0]

  it.each([
    [
      '{ name: FixedWindowRateLimiter, args: { limit: 1000000000000, window: month, time-zone: Asia/Seoul } }',
      { limit: 10 ** 12, window: 'month', timeZone: 'Asia/Seoul' },
    ],
    [
      '{ name: FixedWindowRateLimiter, args: { limit: 5, windowSeconds: 900, start: first-request, block-for: 1h } }',
      { limit: 5, window: 900_000, start: 'first-request', blockFor: 3_600_000 },
    ],
    [
      '{ name: SlidingWindowLogRateLimiter, args: { limit: 5, window: 15m, countDenied: true } }',
      { limit: 5, window: 900_000, countDenied: true },
    ],
    [
      '{ name: SlidingWindowCounterRateLimiter, args: { count-denied: "true" } }',
      { limit: 100, window: 3_600_000, countDenied: true },
    ],
    ['{ name: TokenBucketRateLimiter, args: { blockFor: 60000 } }', { capacity: 100, blockFor: 60_000 }],
    ['{ name: LeakyBucketRateLimiter, args: { blockFor: "60000" } }', { capacity: 100, blockFor: 60_000 }],
    [
      '{ name: ConcurrencyLimiter, args: { limit: 10, ttl: 2m, on-store-failure: local, instances: 2 } }',
      { name: 'one-concurrency', limit: 10, ttl: 120_000, onStoreFailure: 'local', instances: 2 },
    ],
  ])('%s', (filter, options) => {
    expect(policyOf(filter)).toMatchObject(options)
  })

  it('ConcurrencyLimiter uses a policy of the file and the key of its resolver', () => {
    const { routes, policies } = gatewayOf(`
policies: { reports: { algorithm: concurrency, limit: 5 } }
${fileOf(['Path=/**'], ['ConcurrencyLimiter=reports'])}`)
    expect(policies).toStrictEqual([])
    expect(routes[0]!.limits.limits).toMatchObject([
      { policy: { name: 'reports' }, key: { text: "header.x-user-id | 'anonymous'" }, cost: 1 },
    ])
  })
})
