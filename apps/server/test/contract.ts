import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeReservations } from './contract-reservations.js'
import { describeSlots } from './contract-slots.js'
import {
  BATCH,
  CHECK,
  REMAINING,
  RESET,
  type Reply,
  startService,
  type TestService,
} from './start-service.js'

/** The five built-in policies by the name in a request, and the wait for their 101st unit. */
const ALGORITHMS = [
  { algorithm: 'TOKEN_BUCKET', policy: 'token_bucket', window: 10, retry: [1, 1], reset: [10, 10] },
  { algorithm: 'LEAKY_BUCKET', policy: 'leaky_bucket', window: 10, retry: [1, 1], reset: [10, 10] },
  { algorithm: 'SLIDING_WINDOW', policy: 'sliding_window', window: 60, retry: [58, 60], reset: [58, 60] },
  {
    algorithm: 'SLIDING_WINDOW_COUNTER',
    policy: 'sliding_window_counter',
    window: 60,
    retry: [1, 61],
    reset: [60, 121],
  },
  { algorithm: 'FIXED_WINDOW', policy: 'fixed_window', window: 60, retry: [1, 60], reset: [1, 60] },
] as const

/** Windows so long that none ends during a test. */
const FILE = `
default: per-user
policies:
  per-user: { algorithm: sliding-window-counter, limit: 10, window: 1d }
  login: { algorithm: sliding-window-log, limit: 3, window: 1d, onStoreFailure: closed }
  everybody: { algorithm: token-bucket, capacity: 1000, refillRate: 1/1d }
rules:
  - { name: everybody, key: all, policy: everybody }
  - { name: each user, key: "user:{header.x-user-id | 'anonymous'}", policy: per-user }
  - { name: login, match: { path: /login, methods: [POST] }, key: "ip:{ip}", policy: login }
`

/** The contract of the service, on any store. */
export function describeContract(storeName: string, store: () => string): void {
  let defaults: TestService
  let service: TestService
  let keys = 0
  /** An unused key. */
  const newKey = () => `${storeName}:${process.pid}:${keys++}`
  const url = (path: string, query: Record<string, string | number>) =>
    `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))}`

  beforeAll(async () => {
    defaults = await startService(`store: ${store()}`)
    service = await startService(`store: ${store()}\n${FILE}`)
  })
  afterAll(async () => {
    await defaults?.close()
    await service?.close()
  })

  describe.each(ALGORITHMS)('$algorithm', ({ algorithm, policy, window, retry, reset }) => {
    it('allows with 200, a body and headers', async () => {
      const key = newKey()
      const { status, headers, body } = await defaults.get(url(CHECK, { algorithm, key }))
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        allowed: true,
        key,
        algorithm,
        policy,
        limit: 100,
        remaining: 99,
        resetAfterSeconds: body.resetAfterSeconds,
        retryAfterSeconds: 0,
        message: 'Request allowed',
        timeMs: expect.any(Number),
      })
      expect(Math.abs(body.timeMs - Date.now())).toBeLessThan(60_000)
      expect(Object.keys(body)).toStrictEqual([
        'allowed',
        'key',
        'algorithm',
        'policy',
        'limit',
        'remaining',
        'resetAfterSeconds',
        'retryAfterSeconds',
        'message',
        'timeMs',
      ])
      expectHeaders(headers, { policy, limit: 100, remaining: 99, window, wait: body.resetAfterSeconds })
      expect(headers.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)
      const resetSeconds = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000
      expect(resetSeconds).toBeGreaterThan(-2)
      expect(resetSeconds).toBeLessThan(body.resetAfterSeconds + 3)
      expect(headers.has('retry-after')).toBe(false)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    })

    it('allows exactly the limit, then denies with 429 and Retry-After', async () => {
      const key = newKey()
      const all = await defaults.get(url(CHECK, { algorithm, key, permits: 100 }))
      expect(all.body).toMatchObject({ allowed: true, remaining: 0 })
      const { status, headers, body } = await defaults.get(url(CHECK, { algorithm, key, permits: 2 }))
      expect(status).toBe(429)
      expect(body).toStrictEqual({
        allowed: false,
        key,
        algorithm,
        policy,
        limit: 100,
        remaining: expect.any(Number),
        resetAfterSeconds: expect.any(Number),
        retryAfterSeconds: expect.any(Number),
        message: 'Rate limit exceeded',
        timeMs: expect.any(Number),
      })
      expect(body.remaining).toBeLessThan(2)
      expect(body.retryAfterSeconds).toBeGreaterThanOrEqual(retry[0])
      expect(body.retryAfterSeconds).toBeLessThanOrEqual(retry[1])
      expect(body.resetAfterSeconds).toBeGreaterThanOrEqual(reset[0])
      expect(body.resetAfterSeconds).toBeLessThanOrEqual(reset[1])
      const { remaining, retryAfterSeconds: wait } = body
      expectHeaders(headers, { policy, limit: 100, remaining, window, wait })
      expect(headers.get('retry-after')).toBe(String(wait))
      expect(headers.get('cache-control')).toBe('no-store')
    })

    it('accepts the same fields as JSON', async () => {
      const key = newKey()
      const { status, body } = await defaults.post(CHECK, { algorithm, key, permits: 40 })
      expect(status).toBe(200)
      expect(body).toMatchObject({ allowed: true, key, algorithm, policy, limit: 100, remaining: 60 })
      expect(Object.keys(body)[0]).toBe('allowed')
    })

    it('returns remaining with 200, without counting', async () => {
      const key = newKey()
      const untouched = await defaults.get(url(REMAINING, { algorithm, key }))
      expect(untouched.status).toBe(200)
      expect(untouched.body).toMatchObject({ allowed: true, remaining: 100, resetAfterSeconds: 0 })
      await defaults.get(url(CHECK, { algorithm, key, permits: 100 }))
      const used = await defaults.get(url(REMAINING, { algorithm, key, permits: 90 }))
      expect(used.status).toBe(200)
      expect(used.body).toMatchObject({ allowed: false, key, algorithm, policy, limit: 100 })
      expect(used.body.retryAfterSeconds).toBeGreaterThan(0)
      expect(used.headers.get('x-ratelimit-limit')).toBe('100')
      expect(used.headers.has('retry-after')).toBe(false)
    })

    it('resets a key, in this policy or in all', async () => {
      const key = newKey()
      const used = async () => 100 - (await defaults.get(url(REMAINING, { algorithm, key }))).body.remaining
      await defaults.get(url(CHECK, { algorithm, key, permits: 100 }))
      const elsewhere = await defaults.asAdmin(url(RESET, { key: newKey() }), { method: 'DELETE' })
      expect(elsewhere.status).toBe(200)
      expect(await used()).toBeGreaterThan(90)
      const one = await defaults.asAdmin(url(RESET, { key, policy }), { method: 'DELETE' })
      expect(one.body).toStrictEqual({ key, policies: [policy], message: 'Reset' })
      expect(await used()).toBe(0)
      await defaults.get(url(CHECK, { algorithm, key, permits: 100 }))
      const all = await defaults.asAdmin(url(RESET, { key }), { method: 'DELETE' })
      expect(all.body.policies).toHaveLength(5)
      expect(await used()).toBe(0)
    })
  })

  it('allows exactly the limit to concurrent requests', async () => {
    const key = newKey()
    const ask = () => service.get(url(CHECK, { policy: 'login', key }))
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(17)
  })

  it('SLIDING_WINDOW_LOG is SLIDING_WINDOW', async () => {
    const { body } = await defaults.get(url(CHECK, { algorithm: 'SLIDING_WINDOW_LOG', key: newKey() }))
    expect(body).toMatchObject({ algorithm: 'SLIDING_WINDOW', policy: 'sliding_window' })
  })

  it('without algorithm and policy, TOKEN_BUCKET or the default of the file is used', async () => {
    const key = newKey()
    expect((await defaults.get(url(CHECK, { key }))).body).toMatchObject({
      policy: 'token_bucket',
      limit: 100,
    })
    expect((await service.get(url(CHECK, { key }))).body).toMatchObject({
      policy: 'per-user',
      algorithm: 'SLIDING_WINDOW_COUNTER',
      limit: 10,
    })
  })

  it('a policy of the file is used by its name', async () => {
    const { status, body } = await service.post(CHECK, { key: newKey(), policy: 'login', permits: 2 })
    expect(status).toBe(200)
    expect(body).toMatchObject({ policy: 'login', algorithm: 'SLIDING_WINDOW', limit: 3, remaining: 1 })
  })

  it('the fields of a POST may be in the query too', async () => {
    const key = newKey()
    const { body } = await service.post(url(CHECK, { key, policy: 'login' }), { permits: 3 })
    expect(body).toMatchObject({ key, policy: 'login', remaining: 0 })
    const queryOnly = await service.get(url(CHECK, { key, policy: 'login' }), { method: 'POST' })
    expect(queryOnly.status).toBe(429)
  })

  describe('invalid input gets 400 with the field, and has no effect:', () => {
    const rows: [string, Record<string, string | number>, string][] = [
      ['an unknown algorithm', { algorithm: 'GCRA' }, 'algorithm'],
      ['an algorithm in lower case', { algorithm: 'token_bucket' }, 'algorithm'],
      ['algorithm and policy', { algorithm: 'TOKEN_BUCKET', policy: 'token_bucket' }, 'algorithm'],
      ['permits 0', { permits: 0 }, 'permits'],
      ['negative permits', { permits: -1 }, 'permits'],
      ['half a permit', { permits: '1.5' }, 'permits'],
      ['permits with an exponent', { permits: '1e1' }, 'permits'],
      ['permits with a sign', { permits: '+1' }, 'permits'],
      ['permits in hexadecimal', { permits: '0x1' }, 'permits'],
      ['permits with a space', { permits: ' 1' }, 'permits'],
      ['permits in other digits', { permits: '١' }, 'permits'],
      ['no permits', { permits: '' }, 'permits'],
      ['more permits than the limit', { permits: 101 }, 'permits'],
      ['astronomic permits', { permits: '9'.repeat(400) }, 'permits'],
      ['an unknown field', { cost: 1 }, 'cost'],
      ['a field in capitals', { Permits: 1 }, 'Permits'],
      ['__proto__', { __proto__x: 1 }, '__proto__x'],
    ]
    it.each(rows)('%s, in the query', async (_title, fields, field) => {
      const key = newKey()
      for (const path of [CHECK, REMAINING]) {
        const { status, body } = await defaults.get(url(path, { key, ...fields }))
        expect(status).toBe(400)
        expect(body).toMatchObject({ error: 'bad_request', field })
        expect(body.message.length).toBeGreaterThan(10)
      }
      expect((await defaults.get(url(REMAINING, { key }))).body.remaining).toBe(100)
    })

    const bodies: [string, object, string][] = [
      ['permits as text', { permits: '1' }, 'permits'],
      ['permits true', { permits: true }, 'permits'],
      ['permits null', { permits: null }, 'permits'],
      ['half a permit', { permits: 1.5 }, 'permits'],
      ['permits 0', { permits: 0 }, 'permits'],
      ['negative permits', { permits: -1 }, 'permits'],
      ['more permits than the limit', { permits: 101 }, 'permits'],
      ['a key that is a number', { key: 1 }, 'key'],
      ['a key that is a list', { key: ['a'] }, 'key'],
      ['an unknown algorithm', { algorithm: 'GCRA' }, 'algorithm'],
      ['an unknown field', { cost: 1 }, 'cost'],
      ['algorithm and policy', { algorithm: 'TOKEN_BUCKET', policy: 'token_bucket' }, 'algorithm'],
    ]
    it.each(bodies)('%s, in the body', async (_title, fields, field) => {
      const key = newKey()
      const { status, body } = await defaults.post(CHECK, { key, ...fields })
      expect(status).toBe(400)
      expect(body).toMatchObject({ error: 'bad_request', field })
      expect((await defaults.get(url(REMAINING, { key }))).body.remaining).toBe(100)
    })

    it('an unknown algorithm, with the list of algorithms', async () => {
      const choices =
        'TOKEN_BUCKET, SLIDING_WINDOW, SLIDING_WINDOW_LOG, SLIDING_WINDOW_COUNTER, FIXED_WINDOW, LEAKY_BUCKET'
      const must = `must be one of ${choices}, got "GCRA".`
      const one = { algorithm: 'GCRA' }
      expect((await defaults.get(url(CHECK, one))).body.message).toBe(`algorithm ${must}`)
      expect((await defaults.post(CHECK, one)).body.message).toBe(`algorithm ${must}`)
      expect((await defaults.post(BATCH, { checks: [one] })).body.message).toBe(`checks[0].algorithm ${must}`)
    })

    it.each([
      ['twice in the query', `${CHECK}?key=twice&key=twice`, undefined, 'key'],
      ['twice in the query, once escaped', `${CHECK}?permits=1&permits=%31`, undefined, 'permits'],
      ['twice in the body', CHECK, '{"key":"twice","permits":1,"permits":1}', 'permits'],
      ['twice in the body, once escaped', CHECK, '{"key":"twice","\\u006bey":"twice"}', 'key'],
      ['in the query and in the body', `${CHECK}?key=twice`, '{"key":"twice"}', 'key'],
    ])('a field %s', async (_title, path, text, field) => {
      const { status, body } = await (text === undefined ? defaults.get(path) : defaults.post(path, text))
      expect(status).toBe(400)
      expect(body.field).toBe(field)
      expect((await defaults.get(`${REMAINING}?key=twice`)).body.remaining).toBe(100)
    })

    it.each([
      ['an empty key', ''],
      ['a key with a line feed', '%0A'],
      ['a key with a NUL', 'a%00b'],
      ['a key with a C1 control character', '%C2%85'],
      ['a key of 257 bytes', 'a'.repeat(257)],
      ['a key of 129 characters of two bytes', '%C3%A9'.repeat(129)],
      ['invalid UTF-8', '%FF'],
      ['an overlong escape', '%C0%AF'],
      ['half an escape', '%4'],
      ['a lone surrogate', '%ED%A0%80'],
    ])('%s', async (_title, raw) => {
      for (const path of [CHECK, REMAINING]) {
        const { status, body } = await defaults.get(`${path}?key=${raw}`)
        expect(status).toBe(400)
        expect(body.field).toBe('key')
      }
    })
  })

  it.each([
    'a'.repeat(256),
    '日本語 🚀',
    'a+b c%&=?/#',
    '__proto__',
    'constructor',
    '{tag}',
    '<img onerror=x>',
  ])('any other key is valid: %s', async (odd) => {
    const key = odd.length === 256 ? odd : odd + newKey()
    const first = await defaults.get(url(CHECK, { key, permits: 60 }))
    expect(first.body).toMatchObject({ allowed: true, key, limit: 100 })
    const second = await defaults.post(CHECK, { key, permits: 60 })
    expect(second.status).toBe(429)
    expect(second.body.key).toBe(key)
    await defaults.asAdmin(url(RESET, { key }), { method: 'DELETE' })
  })

  it('an unknown policy gets 404', async () => {
    for (const answer of [
      await service.get(url(CHECK, { policy: 'no-such', key: 'a' })),
      await service.get(url(REMAINING, { policy: 'no-such', key: 'a' })),
      await service.asAdmin(url(RESET, { policy: 'no-such', key: 'a' }), { method: 'DELETE' }),
      await service.post(CHECK, { policy: '', key: 'a' }),
    ]) {
      expect(answer.status).toBe(404)
      expect(answer.body).toMatchObject({ error: 'not_found', field: 'policy' })
    }
  })

  it('HEAD on check gets 405, without counting', async () => {
    const key = newKey()
    const { status, headers } = await defaults.get(url(CHECK, { key }), { method: 'HEAD' })
    expect(status).toBe(405)
    expect(headers.get('allow')).toBe('GET, POST')
    expect((await defaults.get(url(REMAINING, { key }))).body.remaining).toBe(100)
  })

  describe('a batch', () => {
    it('checks each entry separately, in order, with 200', async () => {
      const [a, b] = [newKey(), newKey()]
      const checks = [
        { key: a, policy: 'login', permits: 2 },
        { key: a, policy: 'login', permits: 2 },
        { key: b, algorithm: 'TOKEN_BUCKET' },
        { key: a, policy: 'login', permits: 1 },
      ]
      const { status, body, headers } = await service.post(BATCH, { checks })
      expect(status).toBe(200)
      expect(Object.keys(body)).toStrictEqual(['allowed', 'results'])
      expect(body.allowed).toBe(false)
      expect(body.results.map((result: { allowed: boolean }) => result.allowed)).toStrictEqual([
        true,
        false,
        true,
        true,
      ])
      expect(body.results[2]).toStrictEqual({
        allowed: true,
        key: b,
        algorithm: 'TOKEN_BUCKET',
        policy: 'token_bucket',
        limit: 100,
        remaining: 99,
        resetAfterSeconds: 1,
        retryAfterSeconds: 0,
        message: 'Request allowed',
        timeMs: expect.any(Number),
      })
      expect(body.results[1]).toMatchObject({ key: a, message: 'Rate limit exceeded', remaining: 1 })
      expect(headers.get('cache-control')).toBe('no-store')
    })

    it('is all or nothing if it is atomic: 200 or 429', async () => {
      const [a, b] = [newKey(), newKey()]
      const checks = [
        { key: a, policy: 'per-user', permits: 6 },
        { key: b, policy: 'login', permits: 2 },
      ]
      const first = await service.post(BATCH, { checks, atomic: true })
      expect(first.status).toBe(200)
      expect(first.body).toMatchObject({ allowed: true, results: [{ remaining: 4 }, { remaining: 1 }] })
      const second = await service.post(BATCH, {
        checks: [{ ...checks[0], permits: 1 }, checks[1]],
        atomic: true,
      })
      expect(second.status).toBe(429)
      expect(second.body.allowed).toBe(false)
      expect(second.body.results[1]).toMatchObject({ allowed: false, message: 'Rate limit exceeded' })
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(1000)
      expect((await service.get(url(REMAINING, { key: a }))).body.remaining).toBe(4)
    })

    it.each([
      ['an unknown field', { permit: 1 }, 'checks[2].permit'],
      ['permits as text', { permits: '1' }, 'checks[2].permits'],
      ['too many permits', { permits: 11 }, 'checks[2].permits'],
      ['a key with a control character', { key: 'a\nb' }, 'checks[2].key'],
      ['an unknown algorithm', { algorithm: 'GCRA' }, 'checks[2].algorithm'],
      ['algorithm and policy', { algorithm: 'TOKEN_BUCKET', policy: 'login' }, 'checks[2].algorithm'],
      ['an unknown policy', { policy: 'no-such' }, 'checks[2].policy'],
    ])('with one invalid entry (%s) gets 400, and nothing is counted', async (_title, bad, field) => {
      const key = newKey()
      for (const atomic of [false, true]) {
        const checks = [{ key }, { key }, { key, ...bad }, { key }]
        const { status, body } = await service.post(BATCH, { checks, atomic })
        expect(status).toBe(400)
        expect(body.field).toBe(field)
      }
      expect((await service.get(url(REMAINING, { key }))).body.remaining).toBe(10)
    })

    it('that is atomic adds up the permits of one key, and rejects a sum above the limit', async () => {
      const key = newKey()
      const half = { key, policy: 'per-user', permits: 5 }
      const { status, body } = await service.post(BATCH, { checks: [half, half, half], atomic: true })
      expect(status).toBe(400)
      expect(body.field).toBe('checks[2].permits')
      const fits = await service.post(BATCH, { checks: [half, half], atomic: true })
      expect(fits.body).toMatchObject({ allowed: true, results: [{ remaining: 0 }, { remaining: 0 }] })
    })

    it('has 1 to 1,000 checks', async () => {
      const key = newKey()
      const many = await defaults.post(BATCH, {
        checks: Array.from({ length: 1000 }, (_, i) => ({ key: `${key}:${i}` })),
      })
      expect(many.status).toBe(200)
      expect(many.body.results).toHaveLength(1000)
      expect(many.body.results[999].key).toBe(`${key}:999`)
      for (const checks of [[], Array(1001).fill({ key })]) {
        const { status, body } = await defaults.post(BATCH, { checks })
        expect(status).toBe(400)
        expect(body.field).toBe('checks')
      }
      expect((await defaults.post(BATCH, {})).body.field).toBe('checks')
      const { status, body } = await defaults.get(BATCH, { method: 'POST' })
      expect([status, body.field]).toStrictEqual([400, 'checks'])
    })
  })

  describe('the rules of the file', () => {
    it('are checked for a request, which returns the matching and the denying rules', async () => {
      const headers = { 'X-User-Id': newKey() }
      const key = `user:${headers['X-User-Id']}`
      const request = { method: 'POST', path: '/login?x=1', headers, ip: randomAddress() }
      const first = await service.post(CHECK, { request })
      expect(first.status).toBe(200)
      expect(first.body).toMatchObject({
        allowed: true,
        message: 'Request allowed',
        retryAfterSeconds: 0,
        matched: ['everybody', 'each user', 'login'],
        denied: [],
        withoutKey: [],
      })
      expect(first.body.results[1]).toMatchObject({
        rule: 'each user',
        allowed: true,
        key,
        policy: 'per-user',
      })
      expect(first.headers.get('ratelimit-policy')?.split(', ')).toHaveLength(3)
      expect(first.headers.get('ratelimit')).toContain('"login";r=2;t=')
      await service.post(CHECK, { request })
      await service.post(CHECK, { request: { ...request, path: '//%6cogin/' } })
      const fourth = await service.post(CHECK, { request })
      expect(fourth.status).toBe(429)
      expect(fourth.body).toMatchObject({
        allowed: false,
        message: 'Rate limit exceeded',
        denied: ['login'],
      })
      expect(fourth.headers.get('x-ratelimit-limit')).toBe('3')
      expect(fourth.headers.get('retry-after')).toBe(String(fourth.body.retryAfterSeconds))
      // All or nothing: the user was charged three times, not four.
      expect((await service.get(url(REMAINING, { policy: 'per-user', key }))).body.remaining).toBe(7)
    })

    it.each([
      ['post', '/login'],
      ['POST', '//a/login'],
      ['POST', '/a/;/../login'],
    ])('match %s %s, as some applications read it', async (method, path) => {
      const { body } = await service.post(CHECK, { request: { method, path, ip: '198.51.100.77' } })
      expect(body.matched).toContain('login')
    })

    it('that do not match are not checked, and those without a key are listed', async () => {
      const get = await service.post(CHECK, { request: { method: 'GET', path: '/login' } })
      expect(get.body).toMatchObject({ matched: ['everybody', 'each user'], withoutKey: [] })
      const noAddress = await service.post(CHECK, { request: { method: 'POST', path: '/login' } })
      expect(noAddress.body).toMatchObject({ matched: ['everybody', 'each user'], withoutKey: ['login'] })
    })

    it('allow every request if there are none', async () => {
      const { status, body, headers } = await defaults.post(CHECK, { request: { method: 'GET', path: '/' } })
      expect(status).toBe(200)
      expect(body).toMatchObject({ allowed: true, matched: [], denied: [], results: [] })
      expect(headers.has('ratelimit')).toBe(false)
    })

    it.each([
      ['no path', { method: 'GET' }, 'request.path'],
      ['no method', { path: '/' }, 'request.method'],
      ['a path without a canonical form', { method: 'GET', path: '/a/%2f' }, 'request.path'],
      ['an invalid address', { method: 'GET', path: '/', ip: '1.2.3' }, 'request.ip'],
      ['an invalid method', { method: 'GE T', path: '/' }, 'request.method'],
      ['headers that are a list', { method: 'GET', path: '/', headers: [] }, 'request.headers'],
      ['a header that is a number', { method: 'GET', path: '/', headers: { a: 1 } }, 'request.headers.a'],
      ['an unknown field', { method: 'GET', path: '/', host: 'a' }, 'request.host'],
    ])('%s gets 400', async (_title, request, field) => {
      const { status, body } = await service.post(CHECK, { request })
      expect(status).toBe(400)
      expect(body.field).toBe(field)
    })

    it('cannot be combined with a key', async () => {
      const { status, body } = await service.post(CHECK, { key: 'a', request: { method: 'GET', path: '/' } })
      expect(status).toBe(400)
      expect(body.field).toBe('key')
    })
  })

  describeReservations(store, newKey)
  describeSlots(store, newKey)
}

interface Shown {
  policy: string
  limit: number
  remaining: number
  window: number
  wait: number
}

function expectHeaders(headers: Reply['headers'], { policy, limit, remaining, window, wait }: Shown): void {
  expect(headers.get('x-ratelimit-limit')).toBe(String(limit))
  expect(headers.get('x-ratelimit-remaining')).toBe(String(remaining))
  expect(headers.get('ratelimit-policy')).toBe(`"${policy}";q=${limit};w=${window}`)
  expect(headers.get('ratelimit')).toBe(`"${policy}";r=${remaining};t=${wait}`)
}

function randomAddress(): string {
  return `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}`
}
