import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIVE } from '../../../test/live-events.js'
import { LIMITS, type LimitsFolder, limitsFolder } from '../../../test/rls/limits-folder.js'
import {
  BATCH,
  CHECK,
  REMAINING,
  RESET,
  startService,
  type TestService,
} from '../../../test/start-service.js'

/** fetch() cannot set the headers Host and Sec-Fetch-Site. */
function send(
  url: string,
  method: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, setHost: headers.host === undefined }, (response) => {
      let body = ''
      response.on('data', (data) => {
        body += data
      })
      response.on('end', () => resolve({ status: response.statusCode!, body }))
    })
    sent.on('error', reject).end()
  })
}

const ROUTES = [
  ['GET', `${CHECK}?key=k`],
  ['GET', `${REMAINING}?key=k`],
  ['POST', BATCH],
  ['DELETE', `${RESET}?key=k`],
  ['GET', `${LIVE}?events=1`],
  ['GET', '/api/v1/admin/policies'],
] as const

describe('a service on a loopback address without callers', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService('allowedHosts: [Limits.Example.com]')
  })
  afterAll(() => service?.close())

  it.each([...ROUTES, ['GET', '/'], ['GET', '/metrics'], ['GET', '/healthz'], ['GET', '/missing']] as const)(
    'rejects %s %s to a foreign host name with the option to set',
    async (method, path) => {
      const { status, body } = await send(service.url + path, method, { host: 'rebound.example:8080' })
      expect(status).toBe(403)
      expect(body).toContain('Add it to allowedHosts')
    },
  )

  it.each([
    ['localhost', 200],
    ['LOCALHOST:9000', 200],
    ['tidegate.localhost', 200],
    ['127.0.0.1:8080', 200],
    ['192.0.2.1', 200],
    ['[::1]:8080', 200],
    ['limits.example.com', 200],
    ['LIMITS.EXAMPLE.COM:8443', 200],
    ['other.limits.example.com', 403],
    ['limits.example.com.attacker.example', 403],
    ['127.0.0.1.attacker.example', 403],
    ['localhost.attacker.example', 403],
    ['127.0.0.1.example:8080', 403],
  ])('responds to a check to %s with %i', async (host, expected) => {
    expect((await send(`${service.url}${CHECK}?key=k`, 'GET', { host })).status).toBe(expected)
  })
})

it('a service on a loopback address rejects foreign host names, unless it has callers', async () => {
  const headers = { host: 'limits.example.com' }
  const open = await startService()
  const closed = await startService('callers: [{ name: shop, token: shop-token-of-caller }]')
  try {
    expect((await send(open.url + CHECK, 'GET', headers)).status).toBe(403)
    const authorization = 'Bearer shop-token-of-caller'
    expect((await send(closed.url + CHECK, 'GET', { ...headers, authorization })).status).toBe(200)
  } finally {
    await open.close()
    await closed.close()
  }
})

it('a service on all addresses accepts any host name, unless allowedHosts is set', async () => {
  const headers = { host: 'tidegate:8080' }
  const any = await startService('host: 0.0.0.0')
  const listed = await startService('host: 0.0.0.0\nallowedHosts: [limits.example.com]')
  try {
    expect((await send(any.url + CHECK, 'GET', headers)).status).toBe(200)
    expect((await send(listed.url + CHECK, 'GET', headers)).status).toBe(403)
  } finally {
    await any.close()
    await listed.close()
  }
})

describe('a browser', () => {
  let folder: LimitsFolder
  let service: TestService
  beforeAll(async () => {
    folder = limitsFolder({ 'shop.yaml': LIMITS })
    service = await startService(`rls: { listen: 0, config: [${folder.path}] }`)
  })
  afterAll(async () => {
    await service?.close()
    folder?.remove()
  })

  it.each([
    ...ROUTES,
    ['GET', `${CHECK.replace('a', '%61')}?key=k`],
    ['GET', `${CHECK.replace('check', 'ch%65ck')}?key=k`],
    ['POST', '/json'],
  ] as const)('gets 403 for cross-site requests: %s %s', async (method, path) => {
    const { host } = new URL(service.url)
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
      { origin: 'https://attacker.example' },
      { origin: 'null' },
      { origin: `http://${host}.attacker.example` },
      { origin: 'http://localhost:3000' },
    ]) {
      const { status, body } = await send(service.url + path, method, headers as never)
      expect(status).toBe(403)
      expect(body).toContain('other origins')
    }
  })

  it('does not count cross-site requests', async () => {
    await send(`${service.url}${CHECK}?key=image`, 'GET', { 'sec-fetch-site': 'cross-site' })
    expect((await service.get(`${REMAINING}?key=image`)).body.remaining).toBe(100)
  })

  it('gets responses to requests of the same origin and of the address bar', async () => {
    const { origin } = new URL(service.url)
    for (const headers of [
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://behind-a-proxy.example' },
      { origin },
    ]) {
      expect((await send(service.url + CHECK, 'GET', headers as never)).status).toBe(200)
    }
  })

  it('may follow links of other sites to the page and to the API reference', async () => {
    for (const path of ['/', '/docs', '/healthz']) {
      const { status } = await send(service.url + path, 'GET', { 'sec-fetch-site': 'cross-site' })
      expect(status).toBe(200)
    }
  })
})
