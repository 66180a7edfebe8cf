import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  example,
  type ForwardProxy,
  PROXY_TOKEN,
  type StartProxy,
  startCaddy,
  startCaddyWith,
  startEnvoy,
  startHaproxy,
  startNginx,
  startTraefik,
} from './forward-proxies.js'
import { configFile, type ServerProcess, startProcess } from './process.js'
import { root } from './program.js'
import { startService, type TestService } from './start-service.js'

// The configurations in examples/forward-auth, with real proxies: nginx, Caddy and HAProxy. Traefik and Envoy are replayed.

interface Case {
  readonly name: string
  readonly start: StartProxy
  /** The address that the client of this proxy connects from, so that each has its own limits. */
  readonly client: string
  /** The status while Tidegate is unreachable. */
  readonly unreachable: number
  /** Whether the proxy can be configured to allow requests while Tidegate is unreachable. */
  readonly canFailOpen: boolean
  /** Whether the rate limit headers of allowed requests reach the client. */
  readonly hasHeadersWhenAllowed: boolean
}

const CASES: readonly Case[] = [
  { name: 'nginx', start: startNginx, unreachable: 503 },
  { name: 'Caddy', start: startCaddy, unreachable: 502 },
  { name: 'HAProxy', start: startHaproxy, unreachable: 503 },
  { name: 'Traefik', start: startTraefik, unreachable: 500 },
  { name: 'Envoy', start: startEnvoy, unreachable: 503 },
].map((one, i) => ({
  ...one,
  client: `127.0.1.${i + 1}`,
  canFailOpen: one.name !== 'Traefik',
  hasHeadersWhenAllowed: one.name !== 'Traefik',
}))

/** Five processes take long to start on a busy machine. */
const START_TIMEOUT_MS = 90_000

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** Default: the client of the case. */
  readonly from?: string
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Reached extends Omit<Received, 'status'> {
  readonly method: string | undefined
  readonly url: string | undefined
}

let upstream: Server
let servicePort: number
/** The requests that have reached the upstream. */
let reached: Reached[] = []
const closed = new Map<string, ForwardProxy>()
const open = new Map<string, ForwardProxy>()

const upstreamPort = () => (upstream.address() as AddressInfo).port

function ask(
  { port }: ForwardProxy,
  client: string,
  { method = 'GET', path = '/', headers = {}, body = '', from = client }: Sent = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, localAddress: from, agent: false as const }
    const host = { host: 'shop.example.com' }
    const request = send({ ...options, headers: { ...host, ...headers } }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => {
        resolve({ status: response.statusCode!, headers: response.headers, body: text })
      })
    })
    request.on('error', reject).end(body)
  })
}

beforeAll(async () => {
  upstream = createServer((request, response) => {
    let body = ''
    request.on('data', (data) => {
      body += data
    })
    request.on('end', () => {
      reached.push({ method: request.method, url: request.url, headers: request.headers, body })
      response.end('hello')
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  servicePort = await freePort()
  const ports = { service: servicePort, upstream: upstreamPort() }
  await Promise.all(
    CASES.map(async ({ name, start, canFailOpen }) => {
      closed.set(name, await start(ports))
      if (canFailOpen) open.set(name, await start(ports, true))
    }),
  )
})
afterAll(async () => {
  for (const proxy of [...closed.values(), ...open.values()]) await proxy.stop()
  upstream?.close()
})

describe('with four workers on Redis', () => {
  let redis: RedisServer
  let service: ServerProcess
  let file: ReturnType<typeof configFile>
  beforeAll(async () => {
    redis = await startRedis()
    const yaml = example('tidegate.yaml')
      .replace(/^port: 8080$/m, `store: { url: '${redis.url}', deadline: 20s, connectTimeout: 20s }`)
      .replace(
        /^policies:$/m,
        'policies:\n  strict: { algorithm: fixed-window, limit: 1000, window: 1h, onStoreFailure: closed }',
      )
      .replace(
        /^rules:$/m,
        'rules:\n  - { name: strict, match: { path: /strict }, key: all, policy: strict }',
      )
    file = configFile(yaml)
    const args = ['--config', file.path, '--port', String(servicePort), '--workers', '4']
    service = await startProcess(args, { PROXY_TOKEN })
  }, 2 * START_TIMEOUT_MS)
  afterAll(async () => {
    await service?.stop()
    file?.remove()
    await redis?.stop()
  })

  describe.each(CASES)('$name', ({ name, client, hasHeadersWhenAllowed }) => {
    const request = (sent?: Sent) => ask(closed.get(name)!, client, sent)

    it('passes an allowed request on as it is, with the rate limit headers for the client', async () => {
      reached = []
      const { status, headers, body } = await request({
        method: 'POST',
        path: '/login?next=%2F&peek',
        headers: {
          'content-type': 'text/csv',
          authorization: 'Bearer of-a-user',
          origin: 'https://other.example',
          'sec-fetch-site': 'cross-site',
        },
        body: 'a,b',
      })
      expect([status, body]).toStrictEqual([200, 'hello'])
      expect(reached).toMatchObject([{ method: 'POST', url: '/login?next=%2F&peek', body: 'a,b' }])
      expect(reached[0]!.headers).toMatchObject({
        authorization: 'Bearer of-a-user',
        host: 'shop.example.com',
      })
      if (!hasHeadersWhenAllowed) return
      expect(headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' })
      expect(headers.ratelimit).toContain('"login";r=4')
      expect(headers['ratelimit-policy']).toContain('"login";q=5;w=900')
      expect(headers['x-ratelimit-reset']).toMatch(/^\d+$/)
    })

    it('does not let a client choose its method, path, host, address, token or query', async () => {
      reached = []
      const spoofed = {
        method: 'POST',
        path: '/login?peek&status=429',
        headers: {
          'x-forwarded-method': 'GET',
          'x-forwarded-uri': '/free',
          'x-forwarded-host': 'free.example.com',
          'x-forwarded-for': '203.0.113.9',
          'x-original-method': 'GET',
          'x-original-uri': '/free',
          'x-original-url': 'https://free.example.com/free',
          'x-real-ip': '203.0.113.9',
          forwarded: 'for=203.0.113.9',
          'x-tidegate-token': 'a-token-of-the-client',
          connection: 'close, x-forwarded-for, x-forwarded-uri, x-tidegate-token',
        },
      }
      // One of the five was used above.
      const statuses = []
      for (let i = 0; i < 6; i++) statuses.push((await request(spoofed)).status)
      expect(statuses).toStrictEqual([200, 200, 200, 200, 429, 429])
      expect((await request({ method: 'POST', path: '/login' })).status).toBe(429)
      expect(reached).toHaveLength(4)
      const tokens = reached.map(({ headers }) => headers['x-tidegate-token'])
      expect(new Set(tokens)).toStrictEqual(new Set([undefined]))
      // Applications trust the last address, which the proxy has added.
      const addresses = reached.map(({ headers }) => String(headers['x-forwarded-for']).split(/, ?/).at(-1))
      expect(new Set(addresses)).toStrictEqual(new Set([client]))
      // The invented address still has its whole limit.
      const keys = `http://127.0.0.1:${servicePort}/api/v1/rate-limit/remaining?policy=login&key=ip:`
      const remaining = await fetch(`${keys}203.0.113.9`, {
        headers: { authorization: `Bearer ${PROXY_TOKEN}` },
      })
      expect(await remaining.json()).toMatchObject({ remaining: 5 })
    })

    it.each([2, 3])(
      'allows exactly the limit of 200 requests at once, and tells the others when to retry (%i)',
      async (network) => {
        reached = []
        const from = client.replace('127.0.1.', `127.0.${10 + network}.`)
        const all = await Promise.all(
          Array.from({ length: 200 }, (_, i) => request({ from, path: `/item/${i}?a=${i}` })),
        )
        const denied = all.filter(({ status }) => status === 429)
        expect([all.filter(({ status }) => status === 200).length, denied.length]).toStrictEqual([100, 100])
        // Only requests of clients: a proxy that asks the upstream instead of Tidegate would allow.
        expect(reached.filter(({ url }) => url?.startsWith('/item/'))).toHaveLength(100)
        expect(reached).toHaveLength(100)
        if (hasHeadersWhenAllowed) {
          const limited = all.filter(({ headers }) => headers.ratelimit?.includes('"per-client"'))
          expect(limited).toHaveLength(all.length)
        }
        for (const { headers, body } of denied) {
          const retryAfter = Number(headers['retry-after'])
          expect(retryAfter).toBeGreaterThan(0)
          expect(retryAfter).toBeLessThanOrEqual(60)
          expect(headers).toMatchObject({ 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0' })
          expect(headers.ratelimit).toMatch(/^"per-client";r=0;t=\d+$/)
          expect(headers['ratelimit-policy']).toBe('"per-client";q=100;w=60')
          expect(headers['content-type']).toMatch(/^application\/json/)
          expect(JSON.parse(body)).toStrictEqual({
            error: 'rate_limit_exceeded',
            message: `Too many requests. Please retry after ${retryAfter} second${retryAfter === 1 ? '' : 's'}.`,
            retry_after: retryAfter,
          })
        }
      },
    )

    it.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND'])('checks %s', async (method) => {
      reached = []
      const from = client.replace('127.0.1.', '127.0.3.')
      const { status } = await request({ method, from, path: '/a%2Fb/?x' })
      expect(status).toBe(200)
      expect(reached).toMatchObject([{ method, url: '/a%2Fb/?x' }])
    })
  })

  it.each(['nginx', 'Caddy', 'HAProxy'])('%s checks a request without a host', async (name) => {
    const { port } = closed.get(name)!
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.6.1' })
    socket.write('GET / HTTP/1.0\r\n\r\n')
    const [response] = await once(socket, 'data')
    socket.destroy()
    expect(String(response)).toMatch(/^HTTP\/1\.[01] 200 OK\r\n/)
  })

  it.each([
    ['as docs/operators/forward-auth.md has it', (text: string) => text, '127.0.5.1'],
    ['if it sends the query of its client', (text: string) => text.replace('?status=429', ''), '127.0.5.2'],
  ])('forward_auth of Caddy limits, %s', async (_title, change, from) => {
    const [, directive = ''] = /^```text\n(forward_auth[\s\S]*?)^```$/m.exec(
      readFileSync(join(root, 'docs/operators/forward-auth.md'), 'utf8'),
    )!
    const site = `http://:8000 {\n\tbind 127.0.0.1\n${change(directive)}\nreverse_proxy 127.0.0.1:8081\n}\n`
    const caddy = await startCaddyWith(site, { service: servicePort, upstream: upstreamPort() })
    try {
      const statuses = []
      for (const query of [
        '?peek',
        '?status=403&peek',
        '',
        '?next=/',
        '?status=shipped',
        '?peek',
        '?status=429',
      ]) {
        statuses.push((await ask(caddy, from, { method: 'POST', path: `/login${query}` })).status)
      }
      expect(statuses).toStrictEqual([200, 200, 200, 200, 200, 429, 429])
    } finally {
      await caddy.stop()
    }
  })

  describe('when Redis is down', () => {
    beforeAll(() => redis.kill())

    const times = 50
    const statuses = async (proxy: ForwardProxy, from: string, path: string) => {
      const all = await Promise.all(Array.from({ length: times }, () => ask(proxy, from, { path })))
      return [...new Set(all.map(({ status }) => status))]
    }

    it.each(CASES)('$name follows onStoreFailure of the policy', async ({ name, client }) => {
      const from = client.replace('127.0.1.', '127.0.4.')
      expect(await statuses(closed.get(name)!, from, '/')).toStrictEqual([200])
      reached = []
      expect(await statuses(closed.get(name)!, from, '/strict')).toStrictEqual([503])
      expect(reached).toStrictEqual([])
    })

    it.each(CASES.filter(({ canFailOpen }) => canFailOpen))(
      '$name follows it also if it fails open, except for Envoy',
      async ({ name, client }) => {
        const expected = name === 'Envoy' ? 200 : 503
        expect((await ask(open.get(name)!, client, { path: '/strict' })).status).toBe(expected)
      },
    )
  })
})

describe('when the service does not trust the proxy', () => {
  let service: TestService
  beforeAll(async () => {
    const yaml = example('tidegate.yaml').replace('[127.0.0.1]', '[10.0.0.0/8]')
    service = await startService(yaml, servicePort, { PROXY_TOKEN })
  })
  afterAll(() => service?.close())

  it.each(CASES)('$name denies, also if it fails open', async ({ name, client }) => {
    reached = []
    for (const proxy of [closed.get(name)!, open.get(name)]) {
      if (proxy !== undefined) expect((await ask(proxy, client)).status).toBe(403)
    }
    expect(reached).toStrictEqual([])
  })

  it('logs the reason', () => {
    const warning = { level: 'warn', msg: 'Forward-auth request rejected', peer: '127.0.0.1', status: 403 }
    expect(service.logged).toContainEqual(expect.objectContaining(warning))
  })
})

describe('when the service is down', () => {
  const responses = new Map<ForwardProxy, Received>()
  beforeAll(async () => {
    reached = []
    const all = [...closed, ...open].map(async ([name, proxy]) => {
      responses.set(proxy, await ask(proxy, '127.0.7.1', { path: `/${name}?x=1` }))
    })
    await Promise.all(all)
  })

  it.each(CASES)('$name denies with $unreachable by its example', ({ name, unreachable }) => {
    expect(responses.get(closed.get(name)!)!.status).toBe(unreachable)
  })

  const canFailOpen = CASES.filter(({ canFailOpen }) => canFailOpen)
  it.each(canFailOpen)('$name allows if its example is changed to fail open', ({ name }) => {
    expect(responses.get(open.get(name)!)).toMatchObject({ status: 200, body: 'hello' })
  })

  it('only the requests that were allowed have reached the upstream', () => {
    const expected = canFailOpen.map(({ name }) => `/${name}?x=1`)
    expect(reached.map(({ url }) => url).sort()).toStrictEqual(expected.sort())
  })
})
