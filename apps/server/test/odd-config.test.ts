import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { loadConfig } from '../src/config/load.js'

it('whatever stands anywhere, the answer is a configuration or what is wrong with it', () => {
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
      limits: fc.oneof(junk, fc.record({ headersTimeout: half('1s'), requestTimeout: half('1s') })),
      gateway: junk,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(file, (content) => {
      const loaded = loadConfig({ text: stringify(content), env: { A: 'secret-a' } })
      if ('config' in loaded) return
      expect(loaded.mistakes).not.toHaveLength(0)
      for (const { line, message } of loaded.mistakes) {
        expect(line).toBeGreaterThanOrEqual(1)
        expect(message).not.toContain('secret-a')
        expect(message).not.toMatch(/\p{Cc}/u)
      }
    }),
    { seed: 6, numRuns: 2000 },
  )
})
