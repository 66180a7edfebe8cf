import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../../test/gateway-request.js'
import { fileOf, routerOf } from '../../../../test/gateway-routes.js'

type Described = Parameters<typeof gatewayRequest>[0]

function collectError(predicate: string, described: Described): boolean {
  return routerOf(fileOf([predicate])).router.find(gatewayRequest(described)) !== undefined
}

const YEAR_2017 = Date.parse('2017-06-01T00:00:00Z')

/** Each with requests that match and requests that do not. */
const ROWS: readonly [predicate: string, yes: Described[], no: Described[]][] = [
  [
    'Path=/api/**',
    [{ target: '/api' }, { target: '/api/' }, { target: '/api/a/b' }, { target: '/%61pi/a?x=1' }],
    [{ target: '/apis' }, { target: '/' }, { target: '/API/a' }],
  ],
  [
    'Path=/red/{segment},/blue/{segment}',
    [{ target: '/red/1' }, { target: '/blue/a/' }, { target: '/red;v=1/1' }],
    [{ target: '/red' }, { target: '/red/1/2' }, { target: '/green/1' }],
  ],
  ['Path=/a/{*rest}', [{ target: '/a' }, { target: '/a/b/c' }], [{ target: '/b' }, { target: '/ab' }]],
  ['Path=/a/*/c', [{ target: '/a/b/c' }], [{ target: '/a/c' }, { target: '/a/b/b/c' }]],
  ['Path=/a/**/c', [{ target: '/a/c' }, { target: '/a/b/b/c' }], [{ target: '/a/b' }]],
  ['Path=/{a}-{b}.txt', [{ target: '/1-2.txt' }, { target: '/a-b-c.txt' }], [{ target: '/-2.txt' }]],
  ['Path=/v?/a*', [{ target: '/v1/abc' }, { target: '/v2/a' }], [{ target: '/v10/a' }, { target: '/v1/b' }]],
  ['{ name: Path, args: { pattern: "/n/{id:[0-9]+}" } }', [{ target: '/n/12' }], [{ target: '/n/a' }]],
  ['{ name: Path, args: { patterns: [/a, /b] } }', [{ target: '/a' }, { target: '/b' }], [{ target: '/c' }]],
  ['{ name: Path, args: { _genkey_0: /a, _genkey_1: /b } }', [{ target: '/b' }], [{ target: '/c' }]],
  ['Path=/a,/b,true', [{ target: '/b/' }], [{ target: '/c' }]],
  ['Path=/', [{ target: '/' }, { target: '//' }], [{ target: '/a' }]],
  ['Path=/**', [{ target: '/' }, { target: '/a' }], []],
  ['Path=/caf\u00e9', [{ target: '/caf%C3%A9' }, { target: '/caf%c3%a9/' }], [{ target: '/cafe' }]],
  ['Path=/a.b', [{ target: '/a.b' }], [{ target: '/acb' }]],
  ['Method=GET,POST', [{}, { method: 'POST' }], [{ method: 'HEAD' }, { method: 'get' }]],
  [
    'Host=**.example.org,other.net',
    [
      { headers: { host: 'a.b.example.org' } },
      { headers: { host: 'EXAMPLE.org:8080' } },
      { headers: { host: 'other.net.' } },
      { headers: { host: 'other.net..' } },
      { headers: { host: 'other.net.:000080' } },
    ],
    [{ headers: { host: 'badexample.org' } }, { headers: { host: 'example.org.evil' } }, {}],
  ],
  [
    'Host={tenant}.example.org',
    [{ headers: { host: 'a.example.org' } }],
    [{ headers: { host: 'example.org' } }, { headers: { host: 'a.b.example.org' } }],
  ],
  [
    'Header=X-Request-Id, \\d+',
    [{ headers: { 'x-request-id': '12' } }],
    [{ headers: { 'x-request-id': '12a' } }, {}],
  ],
  ['Header=X-Request-Id', [{ headers: { 'x-request-id': '' } }], [{}]],
  ['Query=green', [{ target: '/?green' }, { target: '/?a=1&gr%65en=2' }], [{ target: '/?greenish=1' }, {}]],
  [
    'Query=red, gree.',
    [{ target: '/?red=x&red=green' }],
    [{ target: '/?red=greenish' }, { target: '/?red' }],
  ],
  [
    'Cookie=chocolate, ch.p',
    [{ headers: { cookie: 'a=b; chocolate=chip' } }, { headers: { cookie: 'chocolate="chip"' } }],
    [{ headers: { cookie: 'chocolate=chips' } }, { headers: { cookie: 'xchocolate=chip' } }, {}],
  ],
  [
    'RemoteAddr=192.168.1.1/24,::1',
    [{ ip: '192.168.1.77' }, { ip: '::ffff:192.168.1.2' }, { ip: '::1' }],
    [{ ip: '192.168.2.1' }, { ip: '::2' }],
  ],
  [
    'After=2017-01-20T17:42:47.789-07:00[America/Denver]',
    [{ timeMs: Date.parse('2017-01-21T00:42:47.790Z') }],
    [{ timeMs: Date.parse('2017-01-21T00:42:47.789Z') }],
  ],
  ['Before=2017-01-20T17:42Z', [{ timeMs: 0 }], [{ timeMs: YEAR_2017 }]],
  [
    'Between=2017-01-20T17:42:47.789-07:00[America/Denver], 2018-01-21T17:42:47.789-07:00[America/Denver]',
    [{ timeMs: YEAR_2017 }],
    [{ timeMs: 0 }, { timeMs: Date.parse('2019-01-01T00:00:00Z') }],
  ],
  [`After=${YEAR_2017}`, [{ timeMs: YEAR_2017 + 1 }], [{ timeMs: YEAR_2017 }]],
  [
    'Header=X-Kind, (?i)gold|silver',
    [{ headers: { 'x-kind': 'Gold' } }],
    [{ headers: { 'x-kind': 'golden' } }],
  ],
]

const DASHES = '-'.repeat(15_000)
const WORDS = 'a-'.repeat(7000)

describe('a predicate', () => {
  it.each<[string, Described]>([
    ['Path=/files/*-*-*-*.txt', { target: `/files/${DASHES}` }],
    ['Path=/files/{a}-{b}-{c}-{d}.txt', { target: `/files/${DASHES}` }],
    ['Path=/files/{id:(\\w+-?)+}', { target: `/files/${WORDS}!` }],
    ['Header=X-Build, .*-.*-.*-\\d+', { headers: { 'x-build': DASHES } }],
    ['Header=X-Build, (a|aa)+', { headers: { 'x-build': `${'a'.repeat(15_000)}b` } }],
    ['Cookie=build, .*-.*-.*-\\d+', { headers: { cookie: `build=${DASHES}` } }],
    ['Query=build, .*-.*-.*-\\d+', { target: `/?build=${DASHES}` }],
    ['Host=*-*-*-*-*.example.org', { headers: { host: `${DASHES}.example.com` } }],
  ])(
    '%s takes time linear in the request',
    (predicate, described) => {
      expect(collectError(predicate, described)).toBe(false)
    },
    5000,
  )

  it.each(ROWS)('%s matches only these requests', (predicate, yes, no) => {
    for (const described of yes)
      expect([described, collectError(predicate, described)]).toStrictEqual([described, true])
    for (const described of no)
      expect([described, collectError(predicate, described)]).toStrictEqual([described, false])
  })
})
