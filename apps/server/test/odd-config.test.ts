import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { loadConfig } from '../src/config/load.js'
import { FILTERS } from '../src/gateway/spring/filters/index.js'
import { PREDICATES } from '../src/gateway/spring/predicates/index.js'

it('any file results in a configuration or in errors with a line', () => {
  const junk = fc.oneof(
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      1.5,
      1e300,
      '',
      'x',
      '\u0000',
      '1m',
      '10/1s',
      '/a',
      'GET',
      'token_bucket',
      '${A}',
    ),
    fc.constantFrom([], {}, [null], [[]], ['x', 'x'], [{}], { __proto__: null, x: 1 }, { toString: 1 }),
    fc.string(),
  )
  const half = <T>(right: T) => fc.oneof(fc.constant(right), junk)
  const policy = fc.record(
    {
      algorithm: half('fixed-window'),
      limit: half(5),
      window: half('1m'),
      capacity: junk,
      refillRate: junk,
      onStoreFailure: half('open'),
      instances: half(2),
      name: junk,
    },
    { requiredKeys: [] },
  )
  const match = fc.record(
    { path: half('/a'), methods: half(['GET']), header: half({ a: 'b' }) },
    { requiredKeys: [] },
  )
  const rule = fc.record(
    { name: half('a'), key: half('ip:{ip}'), policy: half('p'), cost: half(1), match: fc.oneof(match, junk) },
    { requiredKeys: [] },
  )
  const caller = fc.record(
    { name: half('a'), token: half('t'), keyPrefix: half('a:'), policies: half(['p']) },
    { requiredKeys: [] },
  )
  const names = [...Object.keys(PREDICATES), ...Object.keys(FILTERS), 'TokenRelay', '__proto__', 'x']
  const args = [PREDICATES, FILTERS].flatMap((parts) =>
    Object.values(parts).flatMap((part) => Object.keys(part.args)),
  )
  const value = fc.oneof(
    junk,
    fc.constantFrom(
      1,
      '5',
      true,
      '{a}',
      '/{a}/**',
      '(?<a>.*)',
      '$\\{a}',
      'x, y',
      '#{@userKeyResolver}',
      '${A}',
    ),
  )
  const part = fc.oneof(
    fc.tuple(fc.constantFrom(...names), fc.array(fc.string(), { maxLength: 4 })).map(([name, values]) => {
      return values.length === 0 ? name : `${name}=${values.join(',')}`
    }),
    fc.record({
      name: fc.constantFrom(...names),
      args: fc.dictionary(fc.constantFrom(...args, '_genkey_0', '_genkey_1', '_genkey_999'), value, {
        maxKeys: 4,
      }),
    }),
    junk,
  )
  const parts = fc.oneof(fc.array(part, { maxLength: 3 }), junk)
  const route = fc.record(
    {
      id: half('r'),
      uri: fc.oneof(
        junk,
        fc.constantFrom('http://a:1', 'ws://a', 'lb://a', 'no://op', 'http://${A}', ['http://a']),
      ),
      order: half(1),
      predicates: parts,
      filters: parts,
      metadata: fc.oneof(
        junk,
        fc.dictionary(fc.constantFrom('connect-timeout', 'response-timeout', 'x'), junk),
      ),
      healthCheck: fc.oneof(junk, fc.record({ path: half('/a'), interval: half('1s') })),
      webSocket: half(true),
      connectTimeout: half('1s'),
    },
    { requiredKeys: [] },
  )
  const routes = fc.oneof(fc.array(fc.oneof(route, junk), { maxLength: 2 }), junk)
  const gateway = fc.record(
    {
      listen: fc.oneof(junk, fc.record({ port: half(1), tls: junk, http2: half(true) })),
      routes,
      defaultFilters: parts,
      'default-filters': parts,
      keyResolvers: fc.oneof(
        junk,
        fc.dictionary(fc.constantFrom('userKeyResolver', '__proto__', 'a b'), half('ip')),
      ),
    },
    { requiredKeys: [] },
  )
  const file = fc.record(
    {
      host: half('::1'),
      port: half(1),
      store: fc.oneof(
        junk,
        fc.record({ url: half('redis://a'), deadline: half('1s'), tls: half(true), prefix: junk }),
      ),
      adminToken: junk,
      callers: fc.oneof(fc.array(fc.oneof(caller, junk), { maxLength: 3 }), junk),
      keyPattern: junk,
      policies: fc.oneof(
        fc.dictionary(fc.constantFrom('p', 'token_bucket', '__proto__', 'P'), fc.oneof(policy, junk)),
        junk,
      ),
      default: half('p'),
      rules: fc.oneof(fc.array(fc.oneof(rule, junk), { maxLength: 3 }), junk),
      trustedProxies: half(['::1']),
      forwardedHeader: junk,
      ipv6Prefix: junk,
      health: junk,
      log: junk,
      rls: fc.oneof(
        junk,
        fc.record(
          {
            listen: half(8081),
            config: half(['limits']),
            tls: junk,
            responseHeaders: junk,
            nearLimitRatio: junk,
          },
          { requiredKeys: [] },
        ),
      ),
      limits: fc.oneof(junk, fc.record({ headersTimeout: half('1s'), requestTimeout: half('1s') })),
      gateway: fc.oneof(gateway, junk),
      spring: fc.oneof(
        junk,
        fc.record({ cloud: fc.oneof(junk, fc.record({ gateway: fc.oneof(junk, fc.record({ routes })) })) }),
      ),
      server: junk,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(file, (content) => {
      const loaded = loadConfig({ text: stringify(content), env: { A: 'secret-a' } })
      if ('config' in loaded) return
      expect(loaded.errors).not.toHaveLength(0)
      for (const { line, message } of loaded.errors) {
        expect(line).toBeGreaterThanOrEqual(1)
        expect(message).not.toContain('secret-a')
        expect(message).not.toMatch(/\p{Cc}/u)
      }
    }),
    { seed: 6, numRuns: 2000 },
  )
})

const POLICIES = `
policies:
  tokens: { algorithm: fixed-window, limit: 5, window: 1m }
  slots: { algorithm: concurrency, limit: 5 }
`
const PARTS = [
  ...Object.entries(PREDICATES).map(([name, part]) => ['predicates', name, part] as const),
  ...Object.entries(FILTERS).map(([name, part]) => ['filters', name, part] as const),
]

it.each(PARTS)('%s: %s accepts or rejects any kind of argument', (list, name, part) => {
  const values = ['[{ x: 1 }]', '[[1]]', '[]', '{ x: 1 }', 'null', 'true', '1.5', '"x"']
  for (const argument of [...Object.keys(part.args), '_genkey_0']) {
    for (const value of values) {
      const written = `{ name: ${name}, args: { ${argument}: ${value} } }`
      const text = `${POLICIES}gateway: { routes: [{ uri: http://a, ${list}: [${written}] }] }`
      expect(() => loadConfig({ text, env: {} }), written).not.toThrow()
    }
  }
})
