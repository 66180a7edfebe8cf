import { canonicalPath } from '@tidegate/http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fileOf, gatewayOf } from '../../../test/gateway-config.js'
import { gatewayRequest } from '../../../test/gateway-request.js'
import { type Forward, NoCanonicalPath, type ResponseHead } from '../route.js'

const ANY_PATH = ['Path=/{first}/**,/**']

function routeWith(filters: readonly string[], predicates: readonly string[] = ANY_PATH) {
  const [route] = gatewayOf(fileOf(predicates, filters)).routes
  return route!
}

/** What is sent on. */
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

/** What is answered. */
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

describe('a filter of paths', () => {
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
  ])('%s: %s is sent on as %s', (filter, target, path) => {
    const forward = sent([filter], `${target}?q=1`)
    expect([forward.path, forward.query]).toStrictEqual([path, 'q=1'])
  })

  it('works on what the one before has made', () => {
    expect(sent(['StripPrefix=1', 'PrefixPath=/v2'], '/api/users').path).toBe('/v2/users')
  })

  it('does not send on what it has put together, if that has no canonical form', () => {
    // Each is harmless by itself.
    const climbing = 'RewritePath=/x(?<a>.*), /..$\\{a}/..'
    expect(() => sent([climbing], '/xy')).not.toThrow()
    expect(() => sent(['RewritePath=x, ../..'], '/x')).toThrow(NoCanonicalPath)
    expect(() => sent(['RewritePath=x, %2F'], '/x')).toThrow(NoCanonicalPath)
  })
})

it('whatever filters make of a path is canonical, or is not sent on', () => {
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

describe('a filter of headers', () => {
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

  it('finds the names of Host, too, and writes what a pattern without the name lacks as nothing', () => {
    const hosts = ['Host={tenant}.example.org']
    expect(sent(['SetRequestHeader=X-Tenant, {tenant}'], '/', hosts).headers.get('x-tenant')).toBe('a')
    expect(sent(['SetRequestHeader=X-First, {first}'], '/').headers.get('x-first')).toBe('')
  })

  it('knows the names of Host as they are written, and the rest in any case', () => {
    const { headers } = sent(['SetRequestHeader=X-Sub, {subDomain}'], '/', ['Host={subDomain}.Example.ORG'])
    expect(headers.get('x-sub')).toBe('a')
  })

  it('leaves the escapes of a value as they are in the path', () => {
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
  ])('%s changes the answer', (filter, name, value) => {
    expect(answered([filter]).headers.get(name)).toStrictEqual(value)
  })
})

describe('other filters', () => {
  it('PreserveHostHeader passes the host on', () => {
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
    ['SetStatus=401', 401],
    ['SetStatus=UNAUTHORIZED', 401],
  ])('%s changes the status', (filter, status) => {
    expect(answered([filter]).status).toBe(status)
    expect(routeWith([filter]).answer).toBeUndefined()
  })

  it('RedirectTo answers instead of any upstream', () => {
    const { answer } = routeWith(['RedirectTo=302, https://acme.example'])
    expect(answer).toStrictEqual({ status: 302, headers: { location: 'https://acme.example/' } })
  })

  it('SetStatus answers by itself where there is no upstream', () => {
    const [route] = gatewayOf('gateway: { routes: [{ uri: "no://op", filters: [SetStatus=410] }] }').routes
    expect(route).toMatchObject({ upstreams: [], answer: { status: 410, headers: {} } })
  })

  it('Retry says how often, what, when and after how long', () => {
    const { retry } = routeWith(['Retry=3, INTERNAL_SERVER_ERROR, GET, 10ms, 50ms, 2, false'])
    expect([retry.retries, [...retry.methods]]).toStrictEqual([3, ['GET']])
    expect([500, 503, 404].map(retry.isFailure)).toStrictEqual([true, true, false])
    expect([1, 2, 3, 4, 100].map(retry.backoffMs)).toStrictEqual([10, 20, 40, 50, 50])
  })

  it('Retry takes lists, and only the hundreds it is told', () => {
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

  it('without Retry, what is safe goes once to each other upstream, and never for its status', () => {
    const [route] = gatewayOf(
      'gateway: { routes: [{ uri: ["http://a:1", "http://b:1", "http://c:1"] }] }',
    ).routes
    expect(route!.retry.retries).toBe(2)
    expect([...route!.retry.methods]).toStrictEqual(['GET', 'HEAD', 'OPTIONS'])
    expect(route!.retry.isFailure(503)).toBe(false)
    expect(routeWith([]).retry).toMatchObject({ retries: 0, retriesIfLost: 1 })
  })
})
