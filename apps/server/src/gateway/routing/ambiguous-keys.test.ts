import { fixedWindow, MemoryStore } from '@tidegate/core'
import { defineRule, parseTemplate } from '@tidegate/http'
import { afterEach, describe, expect, it } from 'vitest'
import { gatewayTo, type TestGateway, type TestUpstream, upstreamOf } from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import type { RouteLimit } from '../route.js'
import { createRouteLimiter } from './route-limiter.js'

let upstream: TestUpstream
let gateway: TestGateway
let passed: number

afterEach(async () => {
  await gateway.close()
  await upstream.close()
})

const policy = fixedWindow({ limit: 2, window: '1h', name: 'test' })

async function limitBy(key: string, more: Partial<RouteLimit> = {}): Promise<void> {
  passed = 0
  upstream = await upstreamOf((_request, response) => {
    passed++
    response.end()
  })
  const limits = [{ policy, key: parseTemplate(key), cost: 1, ...more }]
  const limit = createRouteLimiter('all', { limits, status: 429, queue: false }, new MemoryStore(), () => {})
  gateway = await gatewayTo({ upstreams: [upstream.url], limiter: limit })
}

async function get(target: string, ...headers: string[]): Promise<{ status: number; answer: string }> {
  const lines = [`GET ${target} HTTP/1.1`, 'host: a', ...headers, '', '']
  const answer = await sendRaw(gateway.url, lines.join('\r\n'))
  return { status: statusOf(answer), answer }
}

describe('a key part with several different values', () => {
  it.each<[string, string, string[]]>([
    ['{query.api_key}', '/?api_key=r1&api_key=REAL', []],
    ['{query.api_key}', '/?api_key=REAL&a=b&api%5Fkey=r1', []],
    ['{query.api_key | ip}', '/?api_key=r1&api_key=REAL', []],
    ['{sha256(query.api_key)}', '/?api_key=r1&api_key=REAL', []],
    ['{cookie.sid}', '/', ['cookie: sid=r1; sid=REAL']],
    ['{cookie.sid}', '/', ['cookie: sid=r1', 'cookie: sid=REAL']],
    ['{header.x-api-key}', '/', ['x-api-key: r1', 'x-api-key: REAL']],
    ['{header.x-api-key}', '/', ['x-api-key: r1', 'X_Api_Key: REAL']],
    ['{header.x-api-key | ip}', '/', ['X_Api_Key: REAL']],
    ['{header.x-api-key | ip}', '/', ['X.Api.Key: REAL']],
    ['{header.authorization}', '/', ['authorization: r1', 'authorization: REAL']],
  ])('%s: %s %j is rejected with 400', async (key, target, headers) => {
    await limitBy(key)
    const { status, answer } = await get(target, ...headers)
    expect(status).toBe(400)
    expect(answer).toContain('several different values')
    expect(passed).toBe(0)
  })

  it.each<[string, string, string[]]>([
    ['{query.api_key}', '/?api_key=REAL&api_key=REAL&api_key=', []],
    ['{query.api_key}', '/?api_key=REAL&other=r1', []],
    ['{cookie.sid}', '/', ['cookie: sid=REAL; sid=%52EAL; xsid=r1']],
    ['{header.x-api-key}', '/', ['x-api-key: REAL', 'X_Api_Key: REAL']],
    ['{header.x-api-key}', '/', ['x-api-key: REAL', 'x-api-key2: r1', 'x_api_kex: r1']],
    ['{header.x-user-id | query.api_key}', '/?api_key=r1&api_key=r2', ['x-user-id: REAL']],
    ['{header.x-forwarded-for}', '/', ['x-forwarded-for: 10.0.0.1', 'x-forwarded-for: 10.0.0.2']],
  ])('%s: %s %j is counted', async (key, target, headers) => {
    await limitBy(key)
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await get(target, ...headers)).status)
    expect(statuses).toStrictEqual([200, 200, 429])
  })

  it('does not matter to a rule that does not match', async () => {
    const login = { name: 'login', match: { path: '/login' }, key: '{query.api_key}', policy: 'test' }
    const rule = defineRule(login, () => policy)
    await limitBy('{query.api_key}', { rule })
    expect((await get('/?api_key=1&api_key=2')).status).toBe(200)
    expect((await get('/login?api_key=1&api_key=2')).status).toBe(400)
  })
})
