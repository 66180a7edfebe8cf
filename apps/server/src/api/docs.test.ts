import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BATCH, CHECK, REMAINING, RESET, startService, type TestService } from '../../test/service.js'

describe('the API, described by itself,', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service?.close())

  it('is OpenAPI with every route, and what each takes and answers', async () => {
    const { status, headers, body } = await service.get('/openapi.json')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(body.openapi).toBe('3.1.0')
    const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method} ${path}`),
    )
    for (const route of [
      `get ${CHECK}`,
      `post ${CHECK}`,
      `post ${BATCH}`,
      `get ${REMAINING}`,
      `delete ${RESET}`,
      'get /api/v1/admin/policies',
      'get /api/v1/admin/live',
      'get /api/v1/admin/keys',
      'post /api/v1/admin/race',
      'get /actuator/prometheus',
      'get /actuator/health',
      'get /actuator/info',
      'get /readyz',
      'get /openapi.json',
    ]) {
      expect(routes).toContain(route)
    }
    const { parameters, responses } = body.paths[CHECK].get
    expect(parameters.map(({ name }: { name: string }) => name)).toStrictEqual([
      'key',
      'algorithm',
      'policy',
      'permits',
    ])
    expect(Object.keys(responses)).toStrictEqual(
      expect.arrayContaining(['200', '400', '401', '403', '404', '429', '503']),
    )
    const answer = responses[200].content['application/json'].schema
    const check = await service.get(`${CHECK}?key=described`)
    expect(Object.keys(check.body)).toStrictEqual(answer.required)
    expect(body.paths[RESET].delete.security).toStrictEqual([{ token: [] }])
  })

  it('is a page to read, without scripts and with nothing from elsewhere', async () => {
    const { status, headers, body: docs } = await service.get('/docs')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(docs).not.toMatch(/<script|\son\w+=|https?:\/\/|style="/i)
    for (const part of [
      `GET ${CHECK}`,
      `POST ${BATCH}`,
      'checks[].permits',
      'TOKEN_BUCKET',
      '429 It may not pass.',
    ]) {
      expect(docs).toContain(part)
    }
  })
})

describe('the policies in force', () => {
  it('are what the file says, by the names of the API', async () => {
    const service = await startService(`
default: login
policies:
  login: { algorithm: sliding-window-log, limit: 5, window: 15m, onStoreFailure: closed, keys: secret }
  token_bucket: { capacity: 7, refillRate: 100/1m, instances: 3 }
rules: [{ name: login, match: { path: /login }, key: "ip:{ip}", policy: login, cost: 2 }]
`)
    try {
      const { status, body } = await service.asAdmin('/api/v1/admin/policies')
      expect(status).toBe(200)
      expect(body.default).toBe('login')
      expect(body.policies).toHaveLength(6)
      expect(body.policies).toContainEqual({
        name: 'login',
        algorithm: 'SLIDING_WINDOW',
        limit: 5,
        window: 900_000,
        onStoreFailure: 'closed',
        instances: 1,
        keys: 'secret',
        from: { kind: 'file', line: 4 },
      })
      expect(body.policies).toContainEqual({
        name: 'token_bucket',
        algorithm: 'TOKEN_BUCKET',
        limit: 7,
        refillRate: '100/1m',
        onStoreFailure: 'open',
        instances: 3,
        keys: 'shown',
        from: { kind: 'file', line: 5 },
      })
      expect(body.policies[1]).toMatchObject({ name: 'leaky_bucket', from: { kind: 'built-in' } })
      expect(body.rules).toStrictEqual([
        {
          name: 'login',
          match: { path: ['/login'] },
          key: 'ip:{ip}',
          policy: 'login',
          cost: 2,
          from: { kind: 'file', line: 6 },
        },
      ])
      expect(body).toMatchObject({ routes: [], lastReload: null })
    } finally {
      await service.close()
    }
  })
})

describe('routes of the gateway', () => {
  it('are listed with their limits, whose policies are in force like all others', async () => {
    const service = await startService(`
rules: [{ name: everybody, key: all, policy: token_bucket }]
gateway:
  listen: 0
  routes:
    - { id: later, uri: "http://127.0.0.1:1", order: 1 }
    - id: api
      uri: [http://127.0.0.1:1, http://127.0.0.1:2]
      filters:
        - { name: FixedWindowRateLimiter, args: { limit: 3, windowSeconds: 60 } }
        - { name: RateLimiter, args: { rules: [everybody] } }
`)
    try {
      const { body } = await service.asAdmin('/api/v1/admin/policies')
      expect(body.routes).toStrictEqual([
        {
          id: 'api',
          order: 0,
          upstreams: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
          limits: [
            { policy: 'api-fixed-window', key: "header.x-user-id | 'anonymous'", cost: 1 },
            { policy: 'token_bucket', key: 'all', cost: 1, rule: 'everybody' },
          ],
          from: { kind: 'file', line: 7 },
        },
        {
          id: 'later',
          order: 1,
          upstreams: ['http://127.0.0.1:1'],
          limits: [],
          from: { kind: 'file', line: 6 },
        },
      ])
      expect(body.policies).toContainEqual({
        name: 'api-fixed-window',
        algorithm: 'FIXED_WINDOW',
        limit: 3,
        window: 60_000,
        onStoreFailure: 'open',
        instances: 1,
        keys: 'shown',
        from: { kind: 'route', route: 'api' },
      })
      const peek = await service.get('/api/v1/rate-limit/remaining?policy=api-fixed-window&key=alice')
      expect(peek.body).toMatchObject({ policy: 'api-fixed-window', remaining: 3 })
    } finally {
      await service.close()
    }
  })
})

describe('health and information', () => {
  it('are under both names, and say nothing that is secret', async () => {
    const service = await startService(
      'adminToken: secret-admin-token\ncallers: [{ name: shop, token: secret-caller-token }]',
    )
    try {
      for (const path of ['/actuator/health', '/healthz', '/readyz']) {
        const { status, body, headers } = await service.get(path)
        expect(status).toBe(200)
        expect(headers.get('cache-control')).toBe('no-store')
        expect(body).toStrictEqual({
          status: 'UP',
          components: { store: { status: 'UP', details: { kind: 'memory', latencyMs: expect.any(Number) } } },
        })
      }
      const { body } = await service.get('/actuator/info')
      expect(body).toStrictEqual({
        app: { name: 'tidegate', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
        algorithms: [
          'TOKEN_BUCKET',
          'SLIDING_WINDOW',
          'SLIDING_WINDOW_COUNTER',
          'FIXED_WINDOW',
          'LEAKY_BUCKET',
        ],
        store: { kind: 'memory' },
      })
    } finally {
      await service.close()
    }
  })
})
