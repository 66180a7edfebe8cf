import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw, statusOf } from '../../test/raw-http.js'
import { BATCH, CHECK, REMAINING, RESET, startService, type TestService } from '../../test/service.js'
import { createApp } from './app.js'

const POLICIES = '/api/v1/admin/policies'
/** Everything that only administrators may do. */
const ADMIN = [
  ['DELETE', `${RESET}?key=somebody`],
  ['GET', POLICIES],
  ['GET', '/api/v1/admin/live?events=1'],
  ['GET', '/api/v1/admin/keys?key=somebody'],
  ['POST', '/api/v1/admin/race'],
] as const
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('an administrator, where there is a token,', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(
      'adminToken: right-token\npolicies: { token_bucket: { capacity: 100, refillRate: 1/1d } }',
    )
    await service.get(`${CHECK}?key=somebody&permits=100`)
  })
  afterAll(() => service?.close())

  describe.each(ADMIN)('%s %s', (method, path) => {
    const separator = path.includes('?') ? '&' : '?'
    it.each<[string, Record<string, string>, string]>([
      ['no token', {}, ''],
      ['a wrong token', bearer('wrong-token'), ''],
      ['the beginning of the token', bearer('right-toke'), ''],
      ['more than the token', bearer('right-token-'), ''],
      ['the token in capitals', bearer('RIGHT-TOKEN'), ''],
      ['no token after Bearer', { authorization: 'Bearer' }, ''],
      ['another scheme', { authorization: 'Basic right-token' }, ''],
      ['the token alone', { authorization: 'right-token' }, ''],
      ['two tokens', bearer('right-token right-token'), ''],
      ['the token in another header', { 'x-admin-token': 'right-token' }, ''],
      ['the token in the query as token', {}, 'token=right-token'],
      ['the token in the query as adminToken', {}, 'adminToken=right-token'],
      ['the token in the query as authorization', {}, 'authorization=Bearer%20right-token'],
      ['the token in the query as access_token', {}, 'access_token=right-token'],
      ['the token in a cookie', { cookie: 'token=right-token' }, ''],
    ])('%s is 401, and nothing happens', async (_title, headers, query) => {
      const {
        status,
        body,
        headers: sent,
      } = await service.get(path + (query && separator + query), { method, headers })
      expect(status).toBe(401)
      expect(body.error).toBe('unauthorized')
      expect(sent.get('www-authenticate')).toMatch(/^Bearer/)
      const { remaining } = (await service.get(`${REMAINING}?key=somebody`)).body
      expect(remaining).toBe(0)
    })

    it.each(['Bearer', 'bearer', 'BEARER'])('with the token as %s is let in', async (scheme) => {
      const { status } = await service.get(path, {
        method,
        headers: { authorization: `${scheme} right-token` },
      })
      expect(status).toBe(200)
      await service.get(`${CHECK}?key=somebody&permits=100`)
    })
  })

  it('keeps the token out of every log', async () => {
    await service.get(`${POLICIES}?token=right-token`, { headers: bearer('right-token') })
    expect(JSON.stringify(service.logged)).not.toContain('right-token')
  })
})

describe('an administrator, where there is no token,', () => {
  let service: TestService
  let app: Awaited<ReturnType<typeof createApp>>
  beforeAll(async () => {
    service = await startService()
    app = await createApp(service.service)
  })
  afterAll(async () => {
    await app?.close()
    await service?.close()
  })

  it('is let in over a real connection from this machine', async () => {
    for (const [method, path] of ADMIN) expect((await service.get(path, { method })).status).toBe(200)
  })

  describe.each(ADMIN)('%s %s', (method, url) => {
    const local = { host: '127.0.0.1:8080' }
    it.each<[string, string, Record<string, string>, number]>([
      ['from 127.0.0.1', '127.0.0.1', local, 200],
      ['from 127.9.9.9', '127.9.9.9', local, 200],
      ['from ::1', '::1', local, 200],
      ['from ::ffff:127.0.0.1', '::ffff:127.0.0.1', local, 200],
      ['to localhost', '127.0.0.1', { host: 'localhost' }, 200],
      ['to LOCALHOST:9000', '127.0.0.1', { host: 'LOCALHOST:9000' }, 200],
      ['to [::1]:8080', '::1', { host: '[::1]:8080' }, 200],
      ['from another machine', '192.0.2.7', local, 403],
      ['from another machine over IPv6', '2001:db8::7', { host: '[::1]' }, 403],
      ['from ::ffff:192.0.2.7', '::ffff:192.0.2.7', local, 403],
      ['from 0.0.0.0', '0.0.0.0', local, 403],
      ['through a proxy that says Forwarded', '127.0.0.1', { ...local, forwarded: 'for=127.0.0.1' }, 403],
      ['through a proxy that says X-Forwarded-For', '127.0.0.1', { ...local, 'x-forwarded-for': '::1' }, 403],
      [
        'through a proxy that says X-Forwarded-Proto',
        '127.0.0.1',
        { ...local, 'X-Forwarded-Proto': 'http' },
        403,
      ],
      [
        'through a proxy that says X-Forwarded-Anything',
        '127.0.0.1',
        { ...local, 'x-forwarded-anything': '' },
        403,
      ],
      ['through a proxy that says Via', '127.0.0.1', { ...local, via: '1.1 proxy' }, 403],
      ['through a proxy that says X-Real-IP', '127.0.0.1', { ...local, 'x-real-ip': '127.0.0.1' }, 403],
      ['from a page of this machine', '127.0.0.1', { ...local, origin: 'http://localhost:8080' }, 200],
      ['from a page of elsewhere', '127.0.0.1', { ...local, origin: 'https://attacker.example' }, 403],
      ['from a page of nowhere', '127.0.0.1', { ...local, origin: 'null' }, 403],
      [
        'from a page called after us',
        '127.0.0.1',
        { ...local, origin: 'http://127.0.0.1.attacker.example' },
        403,
      ],
      ['to a name that leads here', '127.0.0.1', { host: 'attacker.example' }, 403],
      ['to localhost.attacker.example', '127.0.0.1', { host: 'localhost.attacker.example' }, 403],
      ['to localhost@attacker.example', '127.0.0.1', { host: 'localhost@attacker.example' }, 403],
      ['to an address of this machine that others see', '127.0.0.1', { host: '192.0.2.1:8080' }, 403],
    ])('%s', async (_title, remoteAddress, headers, expected) => {
      const { statusCode, json } = await app.inject({ method, url, remoteAddress, headers })
      expect(statusCode).toBe(expected)
      if (expected === 403) expect(json()).toMatchObject({ error: 'forbidden' })
    })
  })

  it('that names no host, as HTTP/1.0 allows, is not let in', async () => {
    const answer = await sendRaw(service.url, `GET ${POLICIES} HTTP/1.0\r\n\r\n`)
    expect(statusOf(answer)).toBe(403)
  })

  it('that sends a token nobody has set is not let in by it', async () => {
    const request = {
      method: 'GET',
      url: POLICIES,
      remoteAddress: '192.0.2.7',
      headers: bearer('undefined'),
    } as const
    expect((await app.inject(request)).statusCode).toBe(403)
  })
})

describe('a caller', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(`
adminToken: admin-token
policies:
  per-user: { algorithm: fixed-window, limit: 10, window: 1d }
  login: { algorithm: fixed-window, limit: 10, window: 1d }
default: per-user
rules:
  - { name: each user, key: "shop:{header.x-user-id}", policy: per-user }
callers:
  - { name: any, token: any-token }
  - { name: shop, token: shop-token, keyPrefix: 'shop:', policies: [per-user] }
  - { name: prefix, token: prefix-token, keyPrefix: 'shop:' }
  - { name: other, token: other-token, keyPrefix: 'other:' }
`)
  })
  afterAll(() => service?.close())

  const asks: [string, (key: string, more?: string) => [string, RequestInit]][] = [
    ['GET check', (key, more = '') => [`${CHECK}?key=${key}${more}`, {}]],
    ['POST check', (key, more = '') => [`${CHECK}?key=${key}${more}`, { method: 'POST' }]],
    ['GET remaining', (key, more = '') => [`${REMAINING}?key=${key}${more}`, {}]],
  ]

  describe.each(asks)('%s', (_title, ask) => {
    it.each<[string, string | undefined, string, string, number, string?]>([
      ['nobody', undefined, 'shop:1', '', 401],
      ['an unknown token', 'other', 'shop:1', '', 401],
      ['a caller, anything', 'any-token', 'x:1', '&policy=login', 200],
      ['the administrator, anything', 'admin-token', 'x:1', '&policy=login', 200],
      ['a caller, its own prefix and policy', 'shop-token', 'shop:1', '&policy=per-user', 200],
      ['a caller, its own prefix and the default', 'shop-token', 'shop:1', '', 200],
      ['a caller, another prefix', 'shop-token', 'other:1', '', 403, 'key'],
      ['a caller, a longer word', 'shop-token', 'shop', '', 403, 'key'],
      ['a caller, another policy', 'shop-token', 'shop:1', '&policy=login', 403, 'policy'],
      ['a caller, a built-in policy', 'shop-token', 'shop:1', '&algorithm=TOKEN_BUCKET', 403, 'policy'],
      ['a caller, a policy that is not there', 'shop-token', 'shop:1', '&policy=no-such', 403, 'policy'],
      [
        'a caller for all policies, one that is not there',
        'prefix-token',
        'shop:1',
        '&policy=no-such',
        404,
        'policy',
      ],
    ])('%s', async (_who, token, key, more, status, field) => {
      const [path, init] = ask(key, more)
      const answer = await service.get(path, { ...init, headers: token === undefined ? {} : bearer(token) })
      expect(answer.status).toBe(status)
      expect(answer.body.field).toBe(field)
    })
  })

  it('is asked who it is before what it sends is looked at', async () => {
    expect((await service.get(`${CHECK}?nonsense`)).status).toBe(401)
    expect((await service.post(CHECK, 'no JSON')).status).toBe(401)
    expect((await service.post(BATCH, 'x'.repeat(600_000))).status).toBe(401)
  })

  it('with a token in the query is nobody', async () => {
    for (const name of ['token', 'access_token', 'authorization']) {
      expect((await service.get(`${CHECK}?key=a&${name}=any-token`)).status).toBe(401)
    }
  })

  it('with a prefix must name a key: its address is none of its own', async () => {
    const { status, body } = await service.get(CHECK, { headers: bearer('shop-token') })
    expect(status).toBe(403)
    expect(body.field).toBe('key')
  })

  it('has a batch refused as a whole for one entry that is not its own', async () => {
    const headers = bearer('shop-token')
    const own = await service.post(BATCH, { checks: [{ key: 'shop:b' }] }, { headers })
    expect(own.body.results[0].remaining).toBe(9)
    const mixed = await service.post(BATCH, { checks: [{ key: 'shop:b' }, { key: 'b' }] }, { headers })
    expect(mixed.status).toBe(403)
    expect(mixed.body.field).toBe('checks[1].key')
    expect((await service.get(`${REMAINING}?key=shop:b`, { headers })).body.remaining).toBe(9)
  })

  it('checks the rules within its own', async () => {
    const request = { method: 'GET', path: '/', headers: { 'x-user-id': '7' } }
    const own = await service.post(CHECK, { request }, { headers: bearer('shop-token') })
    expect(own.body).toMatchObject({ allowed: true, matched: ['each user'] })
  })

  it.each([
    ['too long for a key', 'x'.repeat(300)],
    ['of characters that no key has', 'a\tb'],
  ])('checks the rules within its own also for a user %s, of whom a hash is counted', async (_title, id) => {
    const body = { request: { method: 'GET', path: '/', headers: { 'x-user-id': id } } }
    const own = await service.post(CHECK, body, { headers: bearer('shop-token') })
    expect(own.body).toMatchObject({ allowed: true, results: [{ key: expect.stringMatching(/^sha256:/) }] })
    const other = await service.post(CHECK, body, { headers: bearer('other-token') })
    expect(other).toMatchObject({ status: 403, body: { field: 'key' } })
  })

  it('is no administrator', async () => {
    for (const [method, path] of ADMIN) {
      expect((await service.get(path, { method, headers: bearer('any-token') })).status).toBe(401)
    }
  })

  it('needs no token to see the health, the metrics and the documentation', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/actuator/info', '/docs', '/openapi.json', '/']) {
      expect((await service.get(path)).status).toBe(200)
    }
  })

  it('is named in the log if a request of its fails, which has the id of the answer', async () => {
    const { store } = service.service
    const check = () => {
      throw new Error('broken')
    }
    Object.assign(service.service, { store: Object.create(store, { check: { value: check } }) })
    const { status, headers } = await service.get(`${CHECK}?key=shop:1`, { headers: bearer('shop-token') })
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
  ])('%s is %i', async (key, status) => {
    for (const path of [CHECK, REMAINING]) {
      const answer = await service.get(`${path}?key=${key}`)
      expect(answer.status).toBe(status)
      if (status === 400) expect(answer.body.field).toBe('key')
    }
  })

  it('holds for a request without a key too', async () => {
    const { status, body } = await service.get(CHECK)
    expect(status).toBe(400)
    expect(body.field).toBe('key')
  })

  it('does not hold for keys that rules make', async () => {
    const { status, body } = await service.post(CHECK, { request: { method: 'GET', path: '/' } })
    expect(status).toBe(200)
    expect(body.results).toMatchObject([{ key: 'all' }])
  })

  it('does not keep an administrator from forgetting what no longer matches', async () => {
    expect((await service.get(`${RESET}?key=old`, { method: 'DELETE' })).status).toBe(200)
  })
})
