import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ACQUIRE,
  BATCH,
  CANCEL,
  CHECK,
  REFUND,
  RELEASE,
  REMAINING,
  RENEW,
  RESERVE,
  RESET,
  SETTLE,
  startService,
  type TestService,
} from '../../../test/start-service.js'
import { operationsOf } from './complete-document.js'

describe('the OpenAPI document', () => {
  let service: TestService
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  let document: any
  beforeAll(async () => {
    service = await startService()
    document = (await service.get('/openapi.json')).body
  })
  afterAll(() => service?.close())

  it('describes every route with its parameters and responses', async () => {
    const { status, headers, body } = await service.get('/openapi.json')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(body.openapi).toBe('3.1.0')
    expect(body.servers).toStrictEqual([{ url: '/', description: 'This service' }])
    const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method} ${path}`),
    )
    expect(routes.sort()).toStrictEqual(
      [
        `get ${CHECK}`,
        `post ${CHECK}`,
        `post ${BATCH}`,
        `get ${REMAINING}`,
        `delete ${RESET}`,
        ...[REFUND, RESERVE, SETTLE, CANCEL, ACQUIRE, RELEASE, RENEW].map((path) => `post ${path}`),
        'get /api/v1/forward-auth',
        'get /api/v1/admin/policies',
        'get /api/v1/admin/live',
        'get /api/v1/admin/keys',
        'post /api/v1/admin/race',
        'get /actuator/prometheus',
        'get /actuator/health',
        'get /actuator/info',
        'get /readyz',
        'get /openapi.json',
      ].sort(),
    )
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
    expect(responses[200].content['application/json'].schema).toStrictEqual({
      $ref: '#/components/schemas/Check',
    })
    const check = await service.get(`${CHECK}?key=described`)
    expect(Object.keys(check.body)).toStrictEqual(body.components.schemas.Check.required)
  })

  it('gives every operation its own id and its security', () => {
    const operations = operationsOf(document)
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids).not.toContain(undefined)
    expect(new Set(ids).size).toBe(ids.length)
    for (const operation of operations) expect(operation).toHaveProperty('security')
    expect(document.paths[RESET].delete.security).toStrictEqual([{ token: [] }])
    expect(document.paths[CHECK].get.security).toStrictEqual([{}, { token: [] }])
    expect(document.paths['/readyz'].get.security).toStrictEqual([])
  })

  it('says who chooses the ids of reservations and slots', () => {
    for (const title of ['ReserveRequest', 'AcquireRequest'])
      expect(document.components.schemas[title].properties.id.description).toContain('not by a client')
  })

  it('describes every response', () => {
    const responses = operationsOf(document).flatMap((operation) => Object.values(operation.responses ?? {}))
    const descriptions = responses.map(({ description }) => description)
    expect(descriptions).not.toContain(undefined)
    expect(descriptions).not.toContain('Default Response')
    expect(document.paths[CHECK].get.responses[200].description).toBe('OK')
  })

  it('has the content type that /metrics is sent with', async () => {
    const { headers } = await service.get('/actuator/prometheus')
    const { content } = document.paths['/actuator/prometheus'].get.responses[200]
    expect(Object.keys(content)).toStrictEqual([headers.get('content-type')])
  })

  it('has examples that match their schemas', () => {
    const ajv = new Ajv({ allowUnionTypes: true, strict: false })
    ajv.addSchema({ $id: 'document', ...document })
    const withReferences = (schema: object) =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'))
    let examples = 0
    for (const { operationId, requestBody, responses = {} } of operationsOf(document)) {
      const contents = [requestBody, ...Object.values(responses)].flatMap((one) =>
        Object.values(one?.content ?? {}),
      )
      const own = contents.filter(({ example }) => example !== undefined)
      for (const { schema, example } of own) {
        const isValid = ajv.compile(withReferences(schema as object))
        expect([operationId, isValid(example), isValid.errors]).toStrictEqual([operationId, true, null])
        examples++
      }
      if (operationId !== 'getOpenApi') expect(own.length, operationId).toBeGreaterThan(0)
    }
    expect(examples).toBeGreaterThan(15)
  })
})

describe('the active policies', () => {
  it('are those of the file, with the names of the API', async () => {
    const service = await startService(`
default: login
policies:
  login: { algorithm: sliding-window-log, limit: 5, window: 15m, onStoreFailure: closed, keys: secret }
  token_bucket: { capacity: 7, refillRate: 100/1m, instances: 3 }
  spend: { algorithm: fixed-window, limit: 1000000000000, window: month, timeZone: Asia/Seoul, countDenied: true, blockFor: 1m }
  reports: { algorithm: concurrency, limit: 5, ttl: 1m }
rules: [{ name: login, match: { path: /login }, key: "ip:{ip}", policy: login, cost: 2 }]
`)
    try {
      const { status, body } = await service.asAdmin('/api/v1/admin/policies')
      expect(status).toBe(200)
      expect(body.default).toBe('login')
      expect(body.policies).toHaveLength(8)
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
      expect(body.policies).toContainEqual({
        name: 'spend',
        algorithm: 'FIXED_WINDOW',
        limit: 10 ** 12,
        window: 'month',
        timeZone: 'Asia/Seoul',
        countDenied: true,
        blockFor: 60_000,
        onStoreFailure: 'open',
        instances: 1,
        keys: 'shown',
        from: { kind: 'file', line: 6 },
      })
      expect(body.policies).toContainEqual({
        name: 'reports',
        algorithm: 'CONCURRENCY',
        limit: 5,
        ttl: 60_000,
        onStoreFailure: 'open',
        instances: 1,
        keys: 'shown',
        from: { kind: 'file', line: 7 },
      })
      expect(body.policies[1]).toMatchObject({ name: 'leaky_bucket', from: { kind: 'built-in' } })
      expect(body.rules).toStrictEqual([
        {
          name: 'login',
          match: { path: ['/login'] },
          key: 'ip:{ip}',
          policy: 'login',
          cost: 2,
          from: { kind: 'file', line: 8 },
        },
      ])
      expect(body).toMatchObject({ routes: [], lastReload: null })
    } finally {
      await service.close()
    }
  })
})

describe('the routes of the gateway', () => {
  it('are listed with their limits, and their policies can be checked', async () => {
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
  it('are served under both paths, without secrets', async () => {
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
          'CONCURRENCY',
        ],
        store: { kind: 'memory' },
      })
    } finally {
      await service.close()
    }
  })
})
