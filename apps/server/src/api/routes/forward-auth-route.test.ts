import { once } from 'node:events'
import { request as send } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expositionAt, valueIn } from '../../../test/scrape.js'
import { REMAINING, type Reply, startService, type TestService } from '../../../test/start-service.js'
import { FORWARD_AUTH } from '../request/original-request.js'

const RULES = `
policies:
  login: { algorithm: fixed-window, limit: 2, window: 1h }
  users: { algorithm: fixed-window, limit: 5, window: 1h }
  hosts: { algorithm: fixed-window, limit: 3, window: 1h }
rules:
  - { name: login, match: { path: /login, methods: [POST] }, key: "ip:{ip}", policy: login }
  - { name: users, match: { path: "/api/**" }, key: "user:{header.x-user-id}", policy: users }
  - { name: hosts, match: { path: /by-host }, key: "host:{header.host}", policy: hosts }
`
const TRUSTED = `trustedProxies: [127.0.0.1]\n${RULES}`

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
}

/** Sends headers that fetch would not, such as Host and repeated lines. */
function ask(
  { url }: TestService,
  { path = FORWARD_AUTH, method = 'GET', headers = {} }: Sent,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const request = send({ hostname, port, path, method, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data) => {
        text += data
      })
      response.on('end', () => {
        const isJson = /json/.test(response.headers['content-type'] ?? '')
        resolve({
          status: response.statusCode!,
          headers: new Headers(response.headers as Record<string, string>),
          body: isJson && text !== '' ? JSON.parse(text) : text,
        })
      })
    })
    request.on('error', reject).end()
  })
}

let nextAddress = 1
/** A new client for each test. */
const newClient = () => `198.51.100.${nextAddress++}`

const forwarded = (method: string, uri: string, client: string, more: Sent['headers'] = {}) => ({
  'X-Forwarded-Method': method,
  'X-Forwarded-Uri': uri,
  'X-Forwarded-Host': 'shop.example.com',
  'X-Forwarded-For': client,
  ...more,
})

let service: TestService
beforeAll(async () => {
  service = await startService(TRUSTED)
})
afterAll(() => service?.close())

describe('a request of a trusted proxy', () => {
  it('is allowed with the rate limit headers, then denied with the body for clients', async () => {
    const headers = forwarded('POST', '/login?next=/', newClient())
    const first = await ask(service, { headers })
    expect(first.status).toBe(200)
    expect(first.body).toBe('')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    expect(first.headers.get('ratelimit')).toMatch(/^"login";r=1;t=\d+$/)
    expect((await ask(service, { headers })).status).toBe(200)

    const denied = await ask(service, { headers })
    expect(denied.status).toBe(429)
    const retryAfter = Number(denied.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThan(0)
    expect(denied.headers.get('ratelimit-policy')).toBe('"login";q=2;w=3600')
    expect(denied.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(denied.body).toStrictEqual({
      error: 'rate_limit_exceeded',
      message: `Too many requests. Please retry after ${retryAfter} seconds.`,
      retry_after: retryAfter,
    })
  })

  it('is denied with the configured status, also in a problem document', async () => {
    const accept = { accept: 'application/problem+json' }
    const headers = forwarded('POST', '/login?secret=1', newClient(), accept)
    const path = `${FORWARD_AUTH}?status=403`
    for (let i = 0; i < 2; i++) expect((await ask(service, { path, headers })).status).toBe(200)
    const denied = await ask(service, { path, headers })
    expect(denied.status).toBe(403)
    expect(denied.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(denied.headers.get('content-type')).toContain('application/problem+json')
    expect(denied.body).toMatchObject({ status: 403, instance: '/login', 'violated-policies': ['login'] })
    expect((await ask(service, { path: `${FORWARD_AUTH}?status=429`, headers })).status).toBe(429)
  })

  it('is not counted with ?peek, and gets the same response', async () => {
    const headers = forwarded('POST', '/login', newClient())
    const peek = { path: `${FORWARD_AUTH}?peek`, headers }
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await ask(service, peek)
      expect([status, headers.get('x-ratelimit-remaining')]).toStrictEqual([200, '2'])
    }
    for (let i = 0; i < 2; i++) await ask(service, { headers })
    const denied = await ask(service, { ...peek, path: `${FORWARD_AUTH}?status=403&peek` })
    expect(denied.status).toBe(403)
    expect(denied.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  it('is allowed without rate limit headers if no rule matches', async () => {
    const { status, headers, body } = await ask(service, { headers: forwarded('GET', '/', newClient()) })
    expect([status, body]).toStrictEqual([200, ''])
    expect([...headers.keys()].filter((name) => /ratelimit|retry/.test(name))).toStrictEqual([])
  })

  it('counts a preflight only by rules that match OPTIONS', async () => {
    const client = newClient()
    const preflight = { origin: 'https://other.example', 'access-control-request-method': 'POST' }
    const login = await ask(service, { headers: forwarded('OPTIONS', '/login', client, preflight) })
    expect([login.status, login.headers.get('ratelimit')]).toStrictEqual([200, null])
    const user = { ...preflight, 'x-user-id': client }
    const api = await ask(service, { headers: forwarded('OPTIONS', '/api/a', client, user) })
    expect([api.status, api.headers.get('x-ratelimit-remaining')]).toStrictEqual([200, '4'])
  })

  it('is checked whatever site its browser is on', async () => {
    const headers = forwarded('POST', '/login', newClient(), {
      origin: 'https://other.example',
      'sec-fetch-site': 'cross-site',
    })
    expect((await ask(service, { headers })).status).toBe(200)
  })

  it('is limited in every spelling of its path', async () => {
    const client = newClient()
    const spellings = [
      '//login',
      '/./login/',
      '/a%2f..%2flogin',
      '/%6Cogin;v=1',
      '/LOGIN',
      '/a/..;/login',
      '//a/login',
    ]
    for (const [i, uri] of spellings.entries()) {
      const { status } = await ask(service, { headers: forwarded('POST', uri, client) })
      expect([uri, status]).toStrictEqual([uri, i < 2 ? 200 : 429])
    }
  })

  it('is limited whether its method is in upper or lower case', async () => {
    const client = newClient()
    for (const [i, method] of ['post', 'Post', 'POST'].entries()) {
      const { status } = await ask(service, { headers: forwarded(method, '/login', client) })
      expect([method, status]).toStrictEqual([method, i < 2 ? 200 : 429])
    }
  })

  it('has the host of the client for keys, not that of the service', async () => {
    const client = newClient()
    const to = (host: string) => forwarded('GET', '/by-host', client, { 'X-Forwarded-Host': host })
    for (let i = 0; i < 3; i++) expect((await ask(service, { headers: to('one.example') })).status).toBe(200)
    expect((await ask(service, { headers: to('one.example') })).status).toBe(429)
    expect((await ask(service, { headers: to('two.example') })).status).toBe(200)
  })

  it('shares one limit with all requests that send several values of a key', async () => {
    const client = newClient()
    const sent = (i: number) => forwarded('GET', '/api/a', client, { 'x-user-id': [`a${i}`, `b${i}`] })
    for (let i = 0; i < 5; i++) expect((await ask(service, { headers: sent(i) })).status).toBe(200)
    expect((await ask(service, { headers: sent(5) })).status).toBe(429)
  })

  it('appears in the metrics of its policy and of the route', async () => {
    const before = await expositionAt(service.url)
    await ask(service, { headers: forwarded('POST', '/login', newClient()) })
    const after = await expositionAt(service.url)
    const more = (name: string, labels: Record<string, string>) =>
      valueIn(after, name, labels) - valueIn(before, name, labels)
    expect(more('rate_limiter_policy_requests_total', { policy: 'login', allowed: 'true' })).toBe(1)
    expect(more('api_responses_total', { route: 'forward-auth', status: '2xx' })).toBe(1)
  })
})

describe('the request line', () => {
  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE'])(
    'has the original path below the route, with %s',
    async (method) => {
      const client = newClient()
      const path = `${FORWARD_AUTH}/api/${'long/'.repeat(200)}a?peek&status=403&x=%2F`
      const headers = { 'x-forwarded-for': client, 'x-user-id': `${method} ${client}` }
      for (let i = 0; i < 5; i++) expect((await ask(service, { path, method, headers })).status).toBe(200)
      const denied = await ask(service, { path, method, headers })
      expect([denied.status, denied.headers.get('x-ratelimit-remaining')]).toStrictEqual([429, '0'])
      expect(denied.body === '').toBe(method === 'HEAD')
    },
  )

  it('has the original method: a rule for POST does not count GET', async () => {
    const headers = { 'x-forwarded-for': newClient() }
    const path = `${FORWARD_AUTH}/login`
    for (let i = 0; i < 3; i++) expect((await ask(service, { path, headers })).status).toBe(200)
    for (let i = 0; i < 2; i++)
      expect((await ask(service, { path, method: 'POST', headers })).status).toBe(200)
    expect((await ask(service, { path, method: 'POST', headers })).status).toBe(429)
  })

  it('has the path / for the root', async () => {
    const { status } = await ask(service, {
      path: `${FORWARD_AUTH}/?x=1`,
      headers: { 'x-forwarded-for': newClient() },
    })
    expect(status).toBe(200)
  })

  it('is not read from other paths with the same prefix', async () => {
    const headers = forwarded('GET', '/', newClient())
    for (const path of [`${FORWARD_AUTH}x`, `${FORWARD_AUTH};/login`, `/${FORWARD_AUTH}`]) {
      expect((await ask(service, { path, headers })).status).toBe(404)
    }
  })
})

it('responds without waiting for a body, of any type and size', async () => {
  const { hostname, port } = new URL(service.url)
  const client = newClient()
  for (const length of ['content-length: 1000000', 'transfer-encoding: chunked']) {
    const response = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      const lines = [
        `POST ${FORWARD_AUTH}/login HTTP/1.1`,
        'host: localhost',
        `x-forwarded-for: ${client}`,
        'content-type: text/csv',
        length,
      ]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      socket.once('data', (data) => {
        socket.destroy()
        resolve(data.toString())
      })
      socket.on('error', reject)
    })
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  }
})

describe('forward-auth security', () => {
  it('a peer that is not a trusted proxy gets 403, however it describes a request', async () => {
    for (const trusted of ['', 'trustedProxies: [10.0.0.0/8]\n']) {
      const untrusting = await startService(trusted + RULES)
      try {
        for (const path of [FORWARD_AUTH, `${FORWARD_AUTH}?status=429`, `${FORWARD_AUTH}/free`]) {
          const headers = forwarded('GET', '/free', '10.0.0.1')
          const { status, body } = await ask(untrusting, { path, headers })
          expect(status).toBe(403)
          expect(body.message).toBe(
            '127.0.0.1 is not a trusted proxy; add the address of your proxy to trustedProxies in the configuration, for example trustedProxies: [127.0.0.1].',
          )
        }
        const warnings = untrusting.logged.filter(({ msg }) => msg === 'Forward-auth request rejected')
        expect(warnings).toMatchObject([{ level: 'warn', peer: '127.0.0.1', status: 403 }])
      } finally {
        await untrusting.close()
      }
    }
  })

  const without = (...names: string[]) =>
    Object.fromEntries(
      Object.entries(forwarded('POST', '/login', '192.0.2.1')).filter(([name]) => !names.includes(name)),
    )

  it.each<[string, Sent, string]>([
    ['no description at all', {}, 'X-Forwarded-Method is missing.'],
    ['no method', { headers: without('X-Forwarded-Method') }, 'X-Forwarded-Method is missing.'],
    [
      'no path',
      { headers: without('X-Forwarded-Uri') },
      "Let the proxy set it to the client's path and query.",
    ],
    ['no host', { headers: without('X-Forwarded-Host') }, 'X-Forwarded-Host is missing.'],
    ['no client', { headers: without('X-Forwarded-For') }, 'X-Forwarded-For is missing.'],
    ['no client below the route', { path: `${FORWARD_AUTH}/login` }, 'X-Forwarded-For is missing.'],
    [
      'a client that is not an address',
      { headers: forwarded('GET', '/', '192.0.2.1, unknown') },
      'X-Forwarded-For must end with the client\'s address, got "192.0.2.1, unknown".',
    ],
    ['an empty client', { headers: forwarded('GET', '/', '') }, 'must end with the client'],
    ['an empty path', { headers: forwarded('GET', '', '192.0.2.1') }, 'X-Forwarded-Uri is missing.'],
    ['a path without a slash', { headers: forwarded('GET', 'login', '192.0.2.1') }, 'got "login"'],
    ['an asterisk', { headers: forwarded('OPTIONS', '*', '192.0.2.1') }, 'got "*"'],
    [
      'a path with a space',
      { headers: forwarded('GET', '/free /login', '192.0.2.1') },
      'such as /login?next=/',
    ],
    ['two joined paths', { headers: forwarded('GET', '/free, /login', '192.0.2.1') }, 'got "/free, /login"'],
    ['a method with a space', { headers: forwarded('GET POST', '/', '192.0.2.1') }, 'a method such as POST'],
    [
      'a malformed host',
      { headers: forwarded('GET', '/', '192.0.2.1', { 'X-Forwarded-Host': 'a, b' }) },
      'X-Forwarded-Host must be a host name',
    ],
    [
      'a repeated path',
      { headers: { ...forwarded('GET', '/', '192.0.2.1'), 'X-Forwarded-Uri': ['/free', '/login'] } },
      'X-Forwarded-Uri must be sent once, got 2 lines. Let the proxy replace the header of its client',
    ],
    [
      'another path beside that of the proxy',
      { headers: forwarded('GET', '/login', '192.0.2.1', { 'X-Original-URI': '/free' }) },
      'X-Forwarded-Uri is "/login", but X-Original-URI is "/free".',
    ],
    [
      'another method beside that of the proxy',
      { headers: forwarded('POST', '/login', '192.0.2.1', { 'X-Original-Method': 'GET' }) },
      'X-Forwarded-Method is "POST", but X-Original-Method is "GET".',
    ],
    [
      'another host beside that of the proxy',
      { headers: forwarded('GET', '/a', '192.0.2.1', { 'X-Original-URL': 'https://free.example/a' }) },
      'X-Forwarded-Host is "shop.example.com", but X-Original-URL is "free.example".',
    ],
    [
      'a mount with a slash at its end, for a proxy that sends headers',
      { path: `${FORWARD_AUTH}/`, headers: forwarded('GET', '/login', '192.0.2.1') },
      `X-Forwarded-Uri is "/login", but the path below ${FORWARD_AUTH} is "/".`,
    ],
    [
      'another method than that of the request line',
      {
        path: `${FORWARD_AUTH}/login`,
        headers: { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Method': 'POST' },
      },
      'X-Forwarded-Method is "POST", but the method of the request is "GET".',
    ],
    [
      'an unknown option',
      { path: `${FORWARD_AUTH}?dry-run`, headers: forwarded('GET', '/', '192.0.2.1') },
      'Unknown field "dry-run"; this route accepts status, peek.',
    ],
    [
      'an option with an escape in its name',
      { path: `${FORWARD_AUTH}?%70eek`, headers: forwarded('GET', '/', '192.0.2.1') },
      'The name peek must be sent without escapes, got "%70eek".',
    ],
    [
      'another status',
      { path: `${FORWARD_AUTH}?status=200`, headers: forwarded('GET', '/', '192.0.2.1') },
      'status must be 429 or 403, got "200".',
    ],
    [
      'a value of peek',
      { path: `${FORWARD_AUTH}?peek=false`, headers: forwarded('GET', '/', '192.0.2.1') },
      'peek must have no value or true, got "false"; write ?peek.',
    ],
  ])('%s gets 400 with advice', async (_title, sent, message) => {
    const { status, body } = await ask(service, sent)
    expect([status, body.error]).toStrictEqual([400, 'bad_request'])
    expect(body.message).toContain(message)
  })

  it.each(['?peek', '?peek=true', '?status=403&peek', '?a=1&peek&b=2'])(
    'a client that sends %s is counted, also if the proxy passes its query on',
    async (query) => {
      const client = newClient()
      const headers = forwarded('POST', `/login${query}`, client)
      for (let i = 0; i < 2; i++) await ask(service, { path: FORWARD_AUTH + query, headers })
      expect((await ask(service, { path: FORWARD_AUTH + query, headers })).status).toBeGreaterThan(400)
      expect((await ask(service, { path: `${FORWARD_AUTH}?peek`, headers })).status).toBe(429)
    },
  )

  it.each(['?next=/', '?status=shipped', '?peek=no', '?status=403'])(
    'a query that the proxy passes on is not an error: %s',
    async (query) => {
      const headers = forwarded('GET', `/orders${query}`, newClient())
      expect((await ask(service, { path: FORWARD_AUTH + query, headers })).status).toBe(200)
    },
  )

  it('a rule for requests in flight is rejected: nothing would release its slots', async () => {
    const inFlight = await startService(`
trustedProxies: [127.0.0.1]
policies: { reports: { algorithm: concurrency, limit: 1 } }
rules: [{ name: reports, key: all, policy: reports }]
`)
    try {
      const { status, body } = await ask(inFlight, { headers: forwarded('GET', '/', '192.0.2.1') })
      expect(status).toBe(400)
      expect(body.message).toContain('limits requests in flight')
    } finally {
      await inFlight.close()
    }
  })

  it('a configuration without rules is logged', async () => {
    const empty = await startService('trustedProxies: [127.0.0.1]')
    try {
      for (let i = 0; i < 2; i++) {
        const { status } = await ask(empty, { headers: forwarded('GET', '/', '192.0.2.1') })
        expect(status).toBe(200)
      }
      const warnings = empty.logged.filter(({ level }) => level === 'warn')
      expect(warnings).toMatchObject([
        { msg: 'Forward-auth allows every request: the configuration has no rules' },
      ])
    } finally {
      await empty.close()
    }
  })

  it('a web page of another site cannot use the route through a browser on the machine of the proxy', async () => {
    const page = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    for (const [method, headers] of [
      ['GET', page],
      ['OPTIONS', { ...page, 'access-control-request-headers': 'x-forwarded-for' }],
    ] as const) {
      const { status, headers: answered } = await ask(service, {
        path: `${FORWARD_AUTH}/login`,
        method,
        headers,
      })
      expect(status).toBe(400)
      expect(answered.get('access-control-allow-origin')).toBeNull()
    }
    const rebound = forwarded('GET', '/', '192.0.2.1', { host: 'evil.example' })
    const { status, body } = await ask(service, { headers: rebound })
    expect(status).toBe(403)
    expect(body.message).toContain('allowedHosts')
  })
})

describe('X-Original headers', () => {
  it('describe a request too: the whole URL of ingress-nginx has the host', async () => {
    const client = newClient()
    const headers = (host: string) => ({
      'X-Original-Method': 'GET',
      'X-Original-URL': `https://${host}/by-host?x=1`,
      'X-Real-IP': client,
    })
    for (let i = 0; i < 3; i++)
      expect((await ask(service, { headers: headers('ingress.example') })).status).toBe(200)
    expect((await ask(service, { headers: headers('ingress.example') })).status).toBe(429)
    expect((await ask(service, { headers: headers('other.example') })).status).toBe(200)
  })
})

describe('with callers', () => {
  let guarded: TestService
  beforeAll(async () => {
    guarded = await startService(`${TRUSTED}
  - { name: token, match: { path: /token }, key: "{header.x-tidegate-token}", policy: users }
callers:
  - { name: edge, token: the-token-of-the-edge }
  - { name: users-only, token: the-token-of-others, policies: [users] }
`)
  })
  afterAll(() => guarded?.close())
  const edge = { 'x-tidegate-token': 'the-token-of-the-edge' }

  it('the proxy sends its token in X-Tidegate-Token', async () => {
    const headers = forwarded('POST', '/login', newClient(), edge)
    expect((await ask(guarded, { headers })).status).toBe(200)
  })

  it("the Authorization of the client is not a token, and can be the client's own", async () => {
    const stolen = { authorization: 'Bearer the-token-of-the-edge' }
    const { status, body, headers } = await ask(guarded, {
      headers: forwarded('POST', '/login', newClient(), stolen),
    })
    expect([status, headers.get('www-authenticate')]).toStrictEqual([403, null])
    expect(body.message).toContain('X-Tidegate-Token is missing')
    const own = forwarded('POST', '/login', newClient(), { ...edge, authorization: 'Bearer of-a-user' })
    expect((await ask(guarded, { headers: own })).status).toBe(200)
  })

  it('an unknown token is rejected, and guesses are slowed down', async () => {
    const headers = forwarded('POST', '/login', newClient(), { 'x-tidegate-token': 'wrong-wrong-wrong' })
    const statuses = []
    for (let i = 0; i < 11; i++) statuses.push((await ask(guarded, { headers })).status)
    expect(statuses).toStrictEqual([...Array(10).fill(403), 429])
  })

  it('the token is never part of a key', async () => {
    const { status, headers } = await ask(guarded, { headers: forwarded('GET', '/token', newClient(), edge) })
    expect([status, headers.get('x-ratelimit-limit')]).toStrictEqual([200, null])
  })

  it('a caller is restricted to its policies', async () => {
    const other = { 'x-tidegate-token': 'the-token-of-others' }
    const { status } = await ask(guarded, { headers: forwarded('POST', '/login', newClient(), other) })
    expect(status).toBe(403)
  })

  it('a client on a foreign host name is checked: pages have no token', async () => {
    const path = `${FORWARD_AUTH}/by-host`
    const headers = { host: 'shop.example.com', 'x-forwarded-for': newClient(), ...edge }
    const { status, headers: answered } = await ask(guarded, { path, headers })
    expect([status, answered.get('x-ratelimit-limit')]).toStrictEqual([200, '3'])
  })
})

it('one client cannot take the share of calls to the store from the other clients of a proxy', async () => {
  const silent = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const waiting = await startService(`
store: { url: "redis://127.0.0.1:${port}", deadline: 200ms, connectTimeout: 200ms }
callers: [{ name: edge, token: the-token-of-the-edge }]
${TRUSTED}`)
  try {
    const ofClient = (client: string) =>
      ask(waiting, {
        headers: forwarded('POST', '/login', client, { 'x-tidegate-token': 'the-token-of-the-edge' }),
      })
    expect(waiting.service.inFlight!.take('ip:192.0.2.1', 2000)).toBe(true)
    const busy = await ofClient('192.0.2.1')
    expect([busy.status, busy.headers.get('x-ratelimit-degraded')]).toStrictEqual([429, 'local'])
    expect((await ofClient('192.0.2.2')).status).toBe(200)
  } finally {
    await waiting.close()
    silent.close()
  }
})

it('counts the same keys as checks by key', async () => {
  const client = newClient()
  await ask(service, { headers: forwarded('POST', '/login', client) })
  const { body } = await service.get(`${REMAINING}?policy=login&key=ip:${client}`)
  expect(body.remaining).toBe(1)
})
