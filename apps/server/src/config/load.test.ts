import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryStore } from '@tidegate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { formatConfigErrors } from '../config-file/config-error.js'
import type { Config } from './config.js'
import { type LoadOptions, loadConfig } from './load.js'
import { BUILT_IN_POLICIES } from './sections/policies.js'

const EXAMPLE = `
store: redis://localhost:6379     # memory · redis:// · rediss:// · redis+sentinel://h1,h2/name · redis+cluster://h1,h2
default: per-user
policies:
  per-user:  { algorithm: sliding-window-counter, limit: 100, window: 1m }
  everybody: { algorithm: token-bucket, capacity: 10000, refillRate: 10000/1m, onStoreFailure: open }
  login:     { algorithm: sliding-window-log, limit: 5, window: 15m, onStoreFailure: closed }
rules:                            # every rule that matches is checked, all or nothing
  - { name: everybody, key: all, policy: everybody }
  - { name: each user, key: "user:{header.x-user-id | 'anonymous'}", policy: per-user }
  - { name: login, match: { path: /login, methods: [POST] }, key: "ip:{ip}", policy: login }
trustedProxies: [10.0.0.0/8]
`

function configOf(text: string, options: Partial<LoadOptions> = {}): Config {
  const loaded = loadConfig({ text, env: {}, ...options })
  if ('errors' in loaded) throw new Error(formatConfigErrors(loaded.errors, 'file'))
  return loaded.config
}

function errorsOf(options: LoadOptions): string {
  const loaded = loadConfig(options)
  return 'errors' in loaded ? formatConfigErrors(loaded.errors, 'file') : ''
}

describe('without a file', () => {
  const config = configOf('')

  it('every option has its default', () => {
    expect(config).toStrictEqual({
      host: '127.0.0.1',
      port: 8080,
      store: { kind: 'memory', maxKeys: 1_000_000 },
      adminToken: undefined,
      callers: [],
      connections: { max: 10_000, maxPerClient: 1000 },
      allowedHosts: new Set(),
      keyPattern: undefined,
      policies: BUILT_IN_POLICIES,
      secretKeys: new Set(),
      defaultPolicy: BUILT_IN_POLICIES.get('token_bucket'),
      rules: [],
      origins: { policies: new Map(), rules: [] },
      proxies: { trusted: [], hops: 0, header: 'x-forwarded-for', ipv6Prefix: 64 },
      gateway: undefined,
      rls: undefined,
      health: { statusWhenStoreIsDown: 200 },
      log: { level: 'info' },
      limits: {
        maxHeaderBytes: 16_384,
        headersTimeoutMs: 10_000,
        requestTimeoutMs: 30_000,
        responseTimeoutMs: 30_000,
        keepAliveTimeoutMs: 72_000,
        stopTimeoutMs: 10_000,
      },
      notices: { warnings: [], unused: [], profiles: undefined },
    })
  })

  it('there is a policy for each algorithm', () => {
    const numbers = [...config.policies.values()].map((policy) => JSON.parse(JSON.stringify(policy)))
    const common = { onStoreFailure: 'open', instances: 1 }
    expect(numbers).toStrictEqual([
      { name: 'token_bucket', algorithm: 'token-bucket', capacity: 100, refillRate: 10, ...common },
      { name: 'leaky_bucket', algorithm: 'leaky-bucket', capacity: 100, leakRate: 10, ...common },
      { name: 'sliding_window', algorithm: 'sliding-window-log', limit: 100, window: 60_000, ...common },
      {
        name: 'sliding_window_counter',
        algorithm: 'sliding-window-counter',
        limit: 100,
        window: 60_000,
        ...common,
      },
      { name: 'fixed_window', algorithm: 'fixed-window', limit: 100, window: 60_000, ...common },
    ])
  })

  it('the configuration is frozen', () => {
    const { store, callers, rules, health, log, limits } = config
    for (const part of [config, store, callers, rules, health, log, limits]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
  })
})

describe('a complete file', () => {
  const config = configOf(EXAMPLE)

  it('configures Redis with the store options', () => {
    expect(config.store).toStrictEqual({
      kind: 'redis',
      url: 'redis://localhost:6379',
      scheme: 'redis',
      options: { prefix: 'rate_limiter', maxBatch: 64, connectTimeoutMs: 1000 },
      deadlineMs: 50,
      denialCacheMs: 1000,
    })
  })

  it('adds its policies to the built-in ones', () => {
    expect([...config.policies.keys()].slice(5)).toStrictEqual(['per-user', 'everybody', 'login'])
    expect(config.defaultPolicy).toBe(config.policies.get('per-user'))
    expect(config.policies.get('login')).toMatchObject({
      limit: 5,
      window: 900_000,
      onStoreFailure: 'closed',
    })
  })

  it('has rules that match requests and resolve keys', () => {
    const headers: Record<string, string> = { 'x-user-id': '7' }
    const request = {
      method: 'POST',
      path: '/login',
      query: '',
      ip: '192.0.2.1',
      header: (name: string) => headers[name],
    }
    const limits = config.rules.map((rule) => [
      rule.matches(request),
      rule.key.resolve(request),
      rule.policy.name,
    ])
    expect(limits).toStrictEqual([
      [true, 'all', 'everybody'],
      [true, 'user:7', 'per-user'],
      [true, 'ip:192.0.2.1', 'login'],
    ])
    expect(config.rules[2]?.matches({ ...request, method: 'GET' })).toBe(false)
  })

  it('has policies that enforce their limits', () => {
    const store = new MemoryStore()
    const requests = config.rules.map(({ policy }) => ({ policy, key: 'k', cost: 1 }))
    for (let i = 0; i < 5; i++) expect(store.take(requests).allowed).toBe(true)
    expect(store.take(requests).decisions.map(({ allowed }) => allowed)).toStrictEqual([true, true, false])
  })
})

describe('a built-in policy', () => {
  it('can be overridden, and keeps the defaults of omitted numbers', () => {
    const { policies } = configOf(`
policies:
  token_bucket: { capacity: 500 }
  fixed_window: { algorithm: fixed-window, window: 1h, onStoreFailure: local, instances: 3 }
`)
    expect(policies.get('token_bucket')).toMatchObject({
      capacity: 500,
      refillRate: 10,
      name: 'token_bucket',
    })
    expect(policies.get('fixed_window')).toMatchObject({ limit: 100, window: 3_600_000, instances: 3 })
    expect(policies.get('leaky_bucket')).toBe(BUILT_IN_POLICIES.get('leaky_bucket'))
    expect(policies.size).toBe(5)
  })

  it('is the default policy with its overridden numbers', () => {
    expect(configOf('policies: { token_bucket: { capacity: 5 } }').defaultPolicy.limit).toBe(5)
  })
})

describe('every option', () => {
  it('is read into the configuration', () => {
    const config = configOf(`
host: 0.0.0.0
port: 0
adminToken: the-admin-token-1
callers:
  - { name: shop, token: the-shop-token-1, keyPrefix: "shop:", policies: [token_bucket] }
  - { name: till, token: the-till-token-1 }
keyPattern: user:\\d+
forwardedHeader: forwarded
ipv6Prefix: 56
trustedProxies: [10.0.0.0/8, "::1"]
health: { statusWhenStoreIsDown: 503 }
log: { level: debug }
limits: { maxHeaderBytes: 8192, headersTimeout: 1s, requestTimeout: 2000, keepAliveTimeout: 5s, stopTimeout: 0 }
`)
    expect(config).toMatchObject({
      host: '0.0.0.0',
      port: 0,
      adminToken: 'the-admin-token-1',
      callers: [
        { name: 'shop', token: 'the-shop-token-1', keyPrefix: 'shop:', policies: new Set(['token_bucket']) },
        { name: 'till', token: 'the-till-token-1', keyPrefix: undefined, policies: undefined },
      ],
      proxies: { header: 'forwarded', ipv6Prefix: 56 },
      health: { statusWhenStoreIsDown: 503 },
      log: { level: 'debug' },
      limits: {
        maxHeaderBytes: 8192,
        headersTimeoutMs: 1000,
        requestTimeoutMs: 2000,
        keepAliveTimeoutMs: 5000,
        stopTimeoutMs: 0,
      },
    })
    expect(config.proxies.trusted).toHaveLength(2)
  })

  it('with a duration accepts up to an hour', () => {
    expect(configOf('limits: { requestTimeout: 1h }').limits.requestTimeoutMs).toBe(3_600_000)
    expect(errorsOf({ text: 'limits: { requestTimeout: 3600001ms }', env: {} })).toContain('1ms to 1h')
  })

  it('of the memory store is read', () => {
    expect(configOf('store: { maxKeys: 10 }').store).toStrictEqual({ kind: 'memory', maxKeys: 10 })
  })

  it('of the Redis store is read', () => {
    const { store } = configOf(`
store:
  url: redis+cluster://a,b
  username: ann
  password: secret
  tls: { ca: CA, cert: CERT, key: KEY, serverName: redis.example }
  prefix: shop
  maxBatch: 16
  deadline: 20ms
  connectTimeout: 2s
  denialCache: 0
`)
    expect(store).toStrictEqual({
      kind: 'redis',
      url: 'redis+cluster://a,b',
      scheme: 'redis+cluster',
      options: {
        prefix: 'shop',
        maxBatch: 16,
        connectTimeoutMs: 2000,
        username: 'ann',
        password: 'secret',
        tls: { ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'redis.example' },
      },
      deadlineMs: 20,
      denialCacheMs: 0,
    })
    expect(configOf('store: { url: redis+cluster://a, tls: true }').store).toMatchObject({
      options: { tls: {} },
    })
    expect(configOf('store: { url: redis://a, tls: false }').store).not.toHaveProperty('options.tls')
  })
})

it('a policy with a number that looks like seconds gets a warning with its position', () => {
  const warned = vi.spyOn(process, 'emitWarning')
  const loaded = loadConfig({
    text: 'policies:\n  a: { algorithm: fixed-window, limit: 5, window: 60 }\n',
    env: {},
  })
  if ('errors' in loaded) throw new Error('The file is valid.')
  expect(loaded.config.notices.warnings).toStrictEqual([
    {
      line: 2,
      column: 51,
      path: 'policies.a.window',
      message: "60 is 60 milliseconds. Write '60s' for seconds, or '60ms' to keep milliseconds",
    },
  ])
  expect(loaded.config.policies.get('a')).toMatchObject({ window: 60 })
  expect(warned).not.toHaveBeenCalled()
})

it('a filter with numbers that look like seconds gets warnings with their positions', () => {
  const warned = vi.spyOn(process, 'emitWarning')
  const filter = '{ name: FixedWindowRateLimiter, args: { limit: 3, window: 90, blockFor: 900 } }'
  const loaded = loadConfig({
    text: `gateway:\n  routes:\n    - uri: http://a\n      filters:\n        - ${filter}\n`,
    env: {},
  })
  if ('errors' in loaded) throw new Error('The file is valid.')
  expect(loaded.config.notices.warnings).toStrictEqual([
    {
      line: 5,
      column: 69,
      path: 'gateway.routes[0].filters[0].args.window',
      message: "90 is 90 milliseconds. Write '90s' for seconds, or '90ms' to keep milliseconds",
    },
    {
      line: 5,
      column: 83,
      path: 'gateway.routes[0].filters[0].args.blockFor',
      message: "900 is 900 milliseconds. Write '900s' for seconds, or '900ms' to keep milliseconds",
    },
  ])
  expect(warned).not.toHaveBeenCalled()
})

describe('a key pattern', () => {
  it.each([
    ['user:\\d+', 'user:12', true],
    ['user:\\d+', 'xuser:12', false],
    ['user:\\d+', 'user:12x', false],
    ['user:\\d+', 'user:12\n', false],
    ['^user:\\d+$', 'user:12', true],
    ['a|b', 'ab', false],
    ['a|b', 'b', true],
    ['\\p{L}+', '名前', true],
    ['(?:\\w+:)?\\d+', 'user:12', true],
    ['(\\d{1,3}[.]){3}\\d{1,3}', '192.0.2.1', true],
    ['\\(a+\\)+[(*)]+', '(aa)(*)', true],
    ['([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}', '2001:db8:0:0:0:0:0:1', true],
    ['(?:(?:shop|office):){1,3}\\w+?', 'shop:office:1', true],
    ['(ab)+(?:\\u{61}\\.)*(c|d)?', 'ababa.d', true],
  ])('%s and the whole of %j: %s', (pattern, key, matches) => {
    expect(configOf(`keyPattern: '${pattern}'`).keyPattern?.test(key)).toBe(matches)
  })
})

describe('a key pattern', () => {
  it.each([
    '([a-z0-9]+[-_.]?)+!',
    '(?:a*)*b',
    '((a+)b?)*c',
    '(\\w+){10}!',
    '(a|aa)+b',
    '(?:\\w|\\d)*:',
    '(a|aa){10}(a|aa){10}',
    '.*a.*a.*a.*a.*a.*!',
  ])(
    '%s takes time linear in the key',
    (pattern) => {
      const { keyPattern } = configOf(`keyPattern: '${pattern}'`)
      expect(keyPattern?.test('a'.repeat(20_000))).toBe(false)
    },
    5000,
  )

  it.each(['(?=a)b', '(?<!a)b', '(a)\\1', '(?>a)'])('%s is rejected', (pattern) => {
    const loaded = loadConfig({ text: `keyPattern: '${pattern}'`, env: {} })
    expect(loaded).toMatchObject({ errors: [{ message: expect.stringContaining('linear time') }] })
  })
})

describe('the environment', () => {
  const text = 'host: a\nport: 1\nstore: { url: redis://a, prefix: p }\nadminToken: the-token-in-file'
  const env = {
    TIDEGATE_HOST: 'b',
    TIDEGATE_PORT: '2',
    TIDEGATE_STORE: 'rediss://b',
    TIDEGATE_ADMIN_TOKEN: 'the-token-in-environment',
  }

  it('overrides the file', () => {
    expect(configOf(text, { env })).toMatchObject({
      host: 'b',
      port: 2,
      store: { url: 'rediss://b', scheme: 'rediss', options: { prefix: 'p' } },
      adminToken: 'the-token-in-environment',
    })
    expect(configOf(text, { env: { TIDEGATE_STORE: 'memory' } }).store.kind).toBe('memory')
  })

  it('is overridden by the command line', () => {
    const flags = { host: 'c', port: '3', store: 'memory' }
    expect(configOf(text, { env, flags })).toMatchObject({ host: 'c', port: 3, store: { kind: 'memory' } })
  })

  it('ignores empty variables', () => {
    const empty = { TIDEGATE_HOST: '', TIDEGATE_PORT: '', TIDEGATE_STORE: '', TIDEGATE_ADMIN_TOKEN: '' }
    expect(configOf(text, { env: empty })).toMatchObject({
      host: 'a',
      port: 1,
      adminToken: 'the-token-in-file',
    })
  })

  it('reports its errors together with those of the file', () => {
    const wrong = {
      TIDEGATE_PORT: '80a',
      TIDEGATE_STORE: 'redis://ann:hunter2/x@h',
      TIDEGATE_ADMIN_TOKEN: 'hunter2 hunter2',
    }
    const lines = errorsOf({ text: 'prot: 5', env: wrong })
    expect(lines.split('\n')).toStrictEqual([
      'TIDEGATE_PORT: must be a whole number from 0 to 65,535, got "80a"; write for example 8080',
      expect.stringMatching(/^TIDEGATE_STORE: "redis:\/\/…@h" is not a valid Redis address/),
      'TIDEGATE_ADMIN_TOKEN: must consist of visible ASCII characters without spaces',
      'file:1:1  prot: unknown option; did you mean "port"?',
    ])
    expect(errorsOf({ text: '', env: {}, flags: { port: '-1', host: '', store: 'redi://a' } })).toMatch(
      /^--host: must not be empty; write for example 127\.0\.0\.1\n--port: must be .*\n--store: "redi:\/\/a" is not a valid Redis address/,
    )
  })

  it('rejects a caller with the admin token', () => {
    const callers = 'callers: [{ name: shop, token: one-token-for-two }]'
    expect(errorsOf({ text: callers, env: { TIDEGATE_ADMIN_TOKEN: 'one-token-for-two' } })).toBe(
      'file:1:32  callers[0].token: must not be the admin token; give the caller its own token',
    )
  })
})

it('an option with the name of an earlier version is rejected with its new name', () => {
  expect(errorsOf({ text: 'store: { url: redis://a, rememberRefusals: 1s }', env: {} })).toBe(
    'file:1:26  store.rememberRefusals: is now denialCache; rename it',
  )
})

describe('a file on disk', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidegate-load-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is read', () => {
    const file = join(folder, 'tidegate.yaml')
    writeFileSync(file, '\ufeffport: 9000\n')
    expect(loadConfig({ file, env: {} })).toMatchObject({ config: { port: 9000 } })
  })

  it('that is missing is an error', () => {
    expect(errorsOf({ file: '/nowhere/tidegate.yaml', env: {} })).toBe(
      '/nowhere/tidegate.yaml: file not found',
    )
  })

  it('that is a folder is an error', () => {
    mkdirSync(join(folder, 'x.yaml'))
    expect(errorsOf({ file: join(folder, 'x.yaml'), env: {} })).toMatch(
      /must be a file, but is a folder; write the path of a file in it$/,
    )
  })

  it('that is not UTF-8 is an error', () => {
    const file = join(folder, 'utf-16.yaml')
    writeFileSync(file, Buffer.from('\ufeffport: 9000', 'utf16le'))
    expect(errorsOf({ file, env: {} })).toMatch(/is not UTF-8; save it as UTF-8$/)
  })
})
