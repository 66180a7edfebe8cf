import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import {
  BATCH,
  CHECK,
  REMAINING,
  RESET,
  startService,
  type TestService,
} from '../../../test/start-service.js'

const POLICIES = '/api/v1/admin/policies'
/** Every request that needs the admin token. */
const ADMIN = [
  ['DELETE', `${RESET}?key=user:1`],
  ['GET', POLICIES],
  ['GET', '/api/v1/admin/live?events=1'],
  ['GET', '/api/v1/admin/keys?key=user:1'],
  ['POST', '/api/v1/admin/race'],
] as const
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('with an admin token in the configuration', () => {
  let service: TestService
  /** Each wrong token comes from another client, so that none is slowed down. */
  let clients = 0
  beforeAll(async () => {
    service = await startService(
      'adminToken: the-right-token-1\ntrustedProxies: [127.0.0.1]\npolicies: { token_bucket: { capacity: 100, refillRate: 1/1d } }',
    )
    await service.get(`${CHECK}?key=user:1&permits=100`)
  })
  afterAll(() => service?.close())

  describe.each(ADMIN)('%s %s', (method, path) => {
    const separator = path.includes('?') ? '&' : '?'
    it.each<[string, Record<string, string>, string]>([
      ['no token', {}, ''],
      ['a wrong token', bearer('some-wrong-token'), ''],
      ['the beginning of the token', bearer('the-right-token'), ''],
      ['more than the token', bearer('the-right-token-1-'), ''],
      ['the token in capitals', bearer('THE-RIGHT-TOKEN-1'), ''],
      ['no token after Bearer', { authorization: 'Bearer' }, ''],
      ['another scheme', { authorization: 'Basic the-right-token-1' }, ''],
      ['the token alone', { authorization: 'the-right-token-1' }, ''],
      ['two tokens', bearer('the-right-token-1 the-right-token-1'), ''],
      ['the token in another header', { 'x-admin-token': 'the-right-token-1' }, ''],
      ['the token in the query as token', {}, 'token=the-right-token-1'],
      ['the token in the query as adminToken', {}, 'adminToken=the-right-token-1'],
      ['the token in the query as authorization', {}, 'authorization=Bearer%20the-right-token-1'],
      ['the token in the query as access_token', {}, 'access_token=the-right-token-1'],
      ['the token in a cookie', { cookie: 'token=the-right-token-1' }, ''],
    ])('%s gets 401 without an effect', async (_title, headers, query) => {
      const {
        status,
        body,
        headers: sent,
      } = await service.get(path + (query && separator + query), {
        method,
        headers: { ...headers, 'x-forwarded-for': `192.0.2.${++clients}` },
      })
      expect(status).toBe(401)
      expect(body.error).toBe('unauthorized')
      expect(sent.get('www-authenticate')).toMatch(/^Bearer/)
      const { remaining } = (await service.get(`${REMAINING}?key=user:1`)).body
      expect(remaining).toBe(0)
    })

    it.each(['Bearer', 'bearer', 'BEARER'])('accepts the token as %s', async (scheme) => {
      const { status } = await service.get(path, {
        method,
        headers: { authorization: `${scheme} the-right-token-1` },
      })
      expect(status).toBe(200)
      await service.get(`${CHECK}?key=user:1&permits=100`)
    })
  })

  it('never logs the token', async () => {
    await service.get(`${POLICIES}?token=the-right-token-1`, { headers: bearer('the-right-token-1') })
    expect(JSON.stringify(service.logged)).not.toContain('the-right-token-1')
  })
})

describe('without an admin token in the configuration', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service?.close())

  describe.each(ADMIN)('%s %s', (method, path) => {
    it('accepts the generated token', async () => {
      expect((await service.asAdmin(path, { method })).status).toBe(200)
    })

    it('rejects a local request without a token', async () => {
      const { status, body } = await service.get(path, { method })
      expect(status).toBe(401)
      expect(body.message).toContain('which the service logs when it starts')
    })

    it('rejects the requests of nginx with its default settings', async () => {
      const { host } = new URL(service.url)
      const answer = await sendRaw(
        service.url,
        `${method} ${path} HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      )
      expect(statusOf(answer)).toBe(401)
    })
  })

  it('rejects tokens that look like a missing value', async () => {
    for (const token of ['undefined', 'null', '0']) {
      expect((await service.get(POLICIES, { headers: bearer(token) })).status).toBe(401)
    }
  })

  it('generates another token for each service', async () => {
    const other = await startService()
    await other.close()
    expect(other.admin).not.toStrictEqual(service.admin)
    expect(other.service.generatedAdminToken.length).toBeGreaterThanOrEqual(32)
  })
})

describe('wrong tokens', () => {
  it('are delayed after ten, and the right token still works', async () => {
    const service = await startService('adminToken: the-right-token-1')
    try {
      const guess = (i: number) => service.get(POLICIES, { headers: bearer(`wrong-token-${i}`) })
      const start = performance.now()
      const statuses: number[] = []
      for (let i = 0; i < 10; i++) statuses.push((await guess(i)).status)
      expect(new Set(statuses)).toStrictEqual(new Set([401]))
      expect(performance.now() - start).toBeLessThan(1000)

      const heldFrom = performance.now()
      const held = guess(10)
      expect((await service.get(POLICIES, { headers: bearer('the-right-token-1') })).status).toBe(200)
      expect(performance.now() - heldFrom).toBeLessThan(900)
      const { status, headers, body } = await held
      expect(performance.now() - heldFrom).toBeGreaterThan(900)
      expect(status).toBe(429)
      expect(body.error).toBe('too_many_requests')
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
    } finally {
      await service.close()
    }
  })

  it('of callers are delayed too, and requests without a token are not', async () => {
    const service = await startService('callers: [{ name: shop, token: shop-token-of-caller }]')
    try {
      for (let i = 0; i < 20; i++) expect((await service.get(CHECK)).status).toBe(401)
      for (let i = 0; i < 10; i++) {
        expect((await service.get(CHECK, { headers: bearer(`wrong-${i}`) })).status).toBe(401)
      }
      expect((await service.get(CHECK, { headers: bearer('wrong-10') })).status).toBe(429)
      expect((await service.get(CHECK, { headers: bearer('shop-token-of-caller') })).status).toBe(200)
    } finally {
      await service.close()
    }
  })

  it('are counted for each client behind a trusted proxy', async () => {
    const service = await startService('adminToken: the-right-token-1\ntrustedProxies: [127.0.0.1]')
    try {
      const guess = (address: string) =>
        service.get(POLICIES, { headers: { ...bearer('some-wrong-token'), 'x-forwarded-for': address } })
      for (let i = 0; i < 10; i++) await guess('192.0.2.1')
      expect((await guess('192.0.2.1')).status).toBe(429)
      expect((await guess('192.0.2.2')).status).toBe(401)
    } finally {
      await service.close()
    }
  })
})

describe('a caller', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(`
adminToken: the-admin-token-1
policies:
  per-user: { algorithm: fixed-window, limit: 10, window: 1d }
  login: { algorithm: fixed-window, limit: 10, window: 1d }
default: per-user
rules:
  - { name: each user, key: "shop:{header.x-user-id}", policy: per-user }
callers:
  - { name: any, token: any-token-of-callers }
  - { name: shop, token: shop-token-of-caller, keyPrefix: 'shop:', policies: [per-user] }
  - { name: prefix, token: prefix-token-of-caller, keyPrefix: 'shop:' }
  - { name: other, token: other-token-of-caller, keyPrefix: 'other:' }
`)
  })
  afterAll(() => service?.close())

  const requests: [string, (key: string, more?: string) => [string, RequestInit]][] = [
    ['GET check', (key, more = '') => [`${CHECK}?key=${key}${more}`, {}]],
    ['POST check', (key, more = '') => [`${CHECK}?key=${key}${more}`, { method: 'POST' }]],
    ['GET remaining', (key, more = '') => [`${REMAINING}?key=${key}${more}`, {}]],
  ]

  describe.each(requests)('%s', (_title, requestFor) => {
    it.each<[string, string | undefined, string, string, number, string?]>([
      ['a request without a token', undefined, 'shop:1', '', 401],
      ['an unknown token', 'other', 'shop:1', '', 401],
      ['a caller, anything', 'any-token-of-callers', 'x:1', '&policy=login', 200],
      ['the administrator, anything', 'the-admin-token-1', 'x:1', '&policy=login', 200],
      ['a caller, its own prefix and policy', 'shop-token-of-caller', 'shop:1', '&policy=per-user', 200],
      ['a caller, its own prefix and the default', 'shop-token-of-caller', 'shop:1', '', 200],
      ['a caller, another prefix', 'shop-token-of-caller', 'other:1', '', 403, 'key'],
      ['a caller, a key that is shorter than its prefix', 'shop-token-of-caller', 'shop', '', 403, 'key'],
      ['a caller, another policy', 'shop-token-of-caller', 'shop:1', '&policy=login', 403, 'policy'],
      [
        'a caller, a built-in policy',
        'shop-token-of-caller',
        'shop:1',
        '&algorithm=TOKEN_BUCKET',
        403,
        'policy',
      ],
      ['a caller, an unknown policy', 'shop-token-of-caller', 'shop:1', '&policy=no-such', 403, 'policy'],
      [
        'a caller for all policies, an unknown policy',
        'prefix-token-of-caller',
        'shop:1',
        '&policy=no-such',
        404,
        'policy',
      ],
    ])('%s', async (_title, token, key, more, status, field) => {
      const [path, init] = requestFor(key, more)
      const answer = await service.get(path, { ...init, headers: token === undefined ? {} : bearer(token) })
      expect(answer.status).toBe(status)
      expect(answer.body.field).toBe(field)
    })
  })

  it('is authenticated before its request is validated', async () => {
    expect((await service.get(`${CHECK}?nonsense`)).status).toBe(401)
    expect((await service.post(CHECK, 'no JSON')).status).toBe(401)
    expect((await service.post(BATCH, 'x'.repeat(600_000))).status).toBe(401)
  })

  it('with a token in the query is not authenticated', async () => {
    for (const name of ['token', 'access_token', 'authorization']) {
      expect((await service.get(`${CHECK}?key=a&${name}=any-token-of-callers`)).status).toBe(401)
    }
  })

  it('with a prefix must send a key, because the default key does not have the prefix', async () => {
    const { status, body } = await service.get(CHECK, { headers: bearer('shop-token-of-caller') })
    expect(status).toBe(403)
    expect(body.field).toBe('key')
  })

  it('gets 403 for a whole batch with one foreign key', async () => {
    const headers = bearer('shop-token-of-caller')
    const own = await service.post(BATCH, { checks: [{ key: 'shop:b' }] }, { headers })
    expect(own.body.results[0].remaining).toBe(9)
    const mixed = await service.post(BATCH, { checks: [{ key: 'shop:b' }, { key: 'b' }] }, { headers })
    expect(mixed.status).toBe(403)
    expect(mixed.body.field).toBe('checks[1].key')
    expect((await service.get(`${REMAINING}?key=shop:b`, { headers })).body.remaining).toBe(9)
  })

  it('can check rules whose keys have its prefix', async () => {
    const request = { method: 'GET', path: '/', headers: { 'x-user-id': '7' } }
    const own = await service.post(CHECK, { request }, { headers: bearer('shop-token-of-caller') })
    expect(own.body).toMatchObject({ allowed: true, matched: ['each user'] })
  })

  it.each([
    ['too long for a key', 'x'.repeat(300)],
    ['with characters that a key cannot have', 'a\tb'],
  ])(
    'can check rules whose keys have its prefix also for a user id %s, which is counted as a hash',
    async (_title, id) => {
      const body = { request: { method: 'GET', path: '/', headers: { 'x-user-id': id } } }
      const own = await service.post(CHECK, body, { headers: bearer('shop-token-of-caller') })
      expect(own.body).toMatchObject({ allowed: true, results: [{ key: expect.stringMatching(/^sha256:/) }] })
      const other = await service.post(CHECK, body, { headers: bearer('other-token-of-caller') })
      expect(other).toMatchObject({ status: 403, body: { field: 'key' } })
    },
  )

  it('is not an administrator', async () => {
    for (const [method, path] of ADMIN) {
      expect((await service.get(path, { method, headers: bearer('any-token-of-callers') })).status).toBe(401)
    }
  })

  it('needs no token for health, metrics and documentation', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/actuator/info', '/docs', '/openapi.json', '/']) {
      expect((await service.get(path)).status).toBe(200)
    }
  })

  it('is logged with the request id if its request fails', async () => {
    const { store } = service.service
    const check = () => {
      throw new Error('broken')
    }
    Object.assign(service.service, { store: Object.create(store, { check: { value: check } }) })
    const { status, headers } = await service.get(`${CHECK}?key=shop:1`, {
      headers: bearer('shop-token-of-caller'),
    })
    Object.assign(service.service, { store })
    expect(status).toBe(500)
    const requestId = headers.get('x-request-id')
    expect(service.logged.at(-1)).toMatchObject({ level: 'error', requestId, caller: 'shop' })
  })
})

describe('keyPattern', () => {
  let service: TestService
  beforeAll(async () => {
    const rules = 'rules: [{ name: all, key: all, policy: token_bucket }]'
    service = await startService(String.raw`keyPattern: 'user:\d+'${'\n'}${rules}`)
  })
  afterAll(() => service?.close())

  it.each([
    ['user:1', 200],
    ['user:', 400],
    ['xuser:1', 400],
    ['user:1x', 400],
    ['user:1%20', 400],
  ])('%s gets %i', async (key, status) => {
    for (const path of [CHECK, REMAINING]) {
      const answer = await service.get(`${path}?key=${key}`)
      expect(answer.status).toBe(status)
      if (status === 400) expect(answer.body.field).toBe('key')
    }
  })

  it('applies to a request without a key too', async () => {
    const { status, body } = await service.get(CHECK)
    expect(status).toBe(400)
    expect(body.field).toBe('key')
  })

  it('does not apply to the keys of rules', async () => {
    const { status, body } = await service.post(CHECK, { request: { method: 'GET', path: '/' } })
    expect(status).toBe(200)
    expect(body.results).toMatchObject([{ key: 'all' }])
  })

  it('does not prevent the reset of a key that no longer matches', async () => {
    expect((await service.asAdmin(`${RESET}?key=old`, { method: 'DELETE' })).status).toBe(200)
  })
})
