import { freePort } from '@tidegate/fixtures/free-port'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expositionAt, valueIn } from '../../test/scrape.js'
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
} from '../../test/start-service.js'

const policies = `
policies:
  open: { algorithm: fixed-window, limit: 10, window: 1d }
  closed: { algorithm: fixed-window, limit: 10, window: 1d, onStoreFailure: closed }
  local: { algorithm: fixed-window, limit: 10, window: 1d, onStoreFailure: local, instances: 2 }
  slots-open: { algorithm: concurrency, limit: 10 }
  slots-closed: { algorithm: concurrency, limit: 10, onStoreFailure: closed }
  slots-local: { algorithm: concurrency, limit: 4, onStoreFailure: local, instances: 2 }
rules:
  - { name: gate, match: { path: /gate }, key: all, policy: open }
  - { name: vault, match: { path: /vault }, key: all, policy: closed }
`
const fileFor = (url: string, more = '') =>
  `store: { url: '${url}', deadline: 500ms, connectTimeout: 500ms }\n${policies}${more}`

describe('an unavailable store', () => {
  let redis: RedisServer
  let service: TestService
  let strict: TestService
  beforeAll(async () => {
    redis = await startRedis()
    service = await startService(fileFor(redis.url))
    strict = await startService(fileFor(redis.url, 'health: { statusWhenStoreIsDown: 503 }\n'))
    for (const one of [service, strict]) {
      expect((await one.get(`${CHECK}?key=before&policy=closed`)).status).toBe(200)
      expect((await one.get('/healthz')).body.status).toBe('UP')
    }
    await redis.stop()
    await until(
      'the store to be down',
      async () => (await service.get('/healthz')).body.status === 'DEGRADED',
    )
    await until('the breaker to open', async () => {
      await service.get(`${CHECK}?key=k&policy=open`)
      return valueIn(await expositionAt(service.url), 'rate_limiter_breaker_state', { state: 'open' }) === 1
    })
  })
  afterAll(async () => {
    await service?.close()
    await strict?.close()
    await redis?.stop()
  })

  const onlyTheLimit = (headers: Headers, mode: string) => {
    expect(headers.get('x-ratelimit-degraded')).toBe(mode)
    expect(headers.get('x-ratelimit-limit')).toBe('10')
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy']) {
      expect(headers.has(name)).toBe(false)
    }
  }

  it('allows by open policies, with a header and without unknown numbers', async () => {
    const { status, headers, body } = await service.get(`${CHECK}?key=k&policy=open`)
    expect(status).toBe(200)
    onlyTheLimit(headers, 'open')
    expect(body).toStrictEqual({
      allowed: true,
      key: 'k',
      algorithm: 'FIXED_WINDOW',
      policy: 'open',
      limit: 10,
      remaining: null,
      resetAfterSeconds: null,
      retryAfterSeconds: 0,
      message: 'Request allowed',
      timeMs: null,
      degraded: 'open',
    })
  })

  it('rejects by closed policies with 503 and Retry-After', async () => {
    const { status, headers, body } = await service.get(`${CHECK}?key=k&policy=closed`)
    expect(status).toBe(503)
    onlyTheLimit(headers, 'closed')
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({ error: 'rate_limiter_unavailable', retry_after: expect.any(Number) })
    const problem = await service.get(`${CHECK}?key=k&policy=closed`, {
      headers: { accept: 'application/problem+json' },
    })
    expect(problem.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(problem.body).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
      instance: CHECK,
    })
  })

  it('counts in this process for local policies', async () => {
    const answers = []
    for (let i = 0; i < 7; i++) answers.push(await service.get(`${CHECK}?key=share&policy=local`))
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200, 429, 429])
    onlyTheLimit(answers[6]!.headers, 'local')
    expect(Number(answers[6]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answers[6]!.body).toMatchObject({ allowed: false, degraded: 'local', remaining: null })
  })

  it('decides each check of a batch by its policy', async () => {
    const checks = [
      { key: 'b', policy: 'open' },
      { key: 'b', policy: 'closed' },
      { key: 'b', policy: 'local' },
    ]
    const each = await service.post(BATCH, { checks })
    expect(each.status).toBe(200)
    expect(each.headers.get('x-ratelimit-degraded')).toBe('closed')
    expect(each.body.results).toMatchObject([
      { allowed: true, degraded: 'open' },
      { allowed: false, degraded: 'closed', message: 'The rate limiter is temporarily unavailable' },
      { allowed: true, degraded: 'local' },
    ])
    const together = await service.post(BATCH, { checks, atomic: true })
    expect(together.status).toBe(503)
    expect(together.headers.has('retry-after')).toBe(true)
  })

  it('decides rules by their policies', async () => {
    const gate = await service.post(CHECK, { request: { method: 'GET', path: '/gate' } })
    expect(gate.status).toBe(200)
    expect(gate.headers.get('x-ratelimit-degraded')).toBe('open')
    expect((await service.post(CHECK, { request: { method: 'GET', path: '/vault' } })).status).toBe(503)
  })

  it('returns unknown numbers for remaining, with 200', async () => {
    const { status, body } = await service.get(`${REMAINING}?key=k&policy=closed`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ allowed: false, remaining: null, degraded: 'closed' })
  })

  it('responds to a reset with 503', async () => {
    const { status, headers } = await service.asAdmin(`${RESET}?key=k`, { method: 'DELETE' })
    expect(status).toBe(503)
    expect(headers.has('retry-after')).toBe(true)
  })

  it('reserves by the fallback of the policy, with an id that can be settled', async () => {
    const open = await service.post(RESERVE, { key: 'r', policy: 'open', permits: 5 })
    expect(open.status).toBe(200)
    onlyTheLimit(open.headers, 'open')
    expect(open.body).toMatchObject({ allowed: true, degraded: 'open', remaining: null, reserved: 0 })
    expect(open.body.id).toMatch(/^[!-~]+$/)
    const closed = await service.post(RESERVE, { key: 'r', policy: 'closed', permits: 5 })
    expect(closed.status).toBe(503)
    onlyTheLimit(closed.headers, 'closed')
    const local = [5, 5].map((permits) => service.post(RESERVE, { key: 'r', policy: 'local', permits }))
    expect((await Promise.all(local)).map(({ status }) => status)).toStrictEqual([200, 429])
  })

  it('acquires by the fallback of the policy, without taking a slot', async () => {
    const open = await service.post(ACQUIRE, { key: 's', policy: 'slots-open' })
    expect(open.status).toBe(200)
    expect(open.body).toMatchObject({ allowed: true, degraded: 'open' })
    expect(open.body).not.toHaveProperty('id')
    expect((await service.post(ACQUIRE, { key: 's', policy: 'slots-closed' })).status).toBe(503)
    const local = [1, 2, 3].map(() => service.post(ACQUIRE, { key: 's', policy: 'slots-local' }))
    const answers = await Promise.all(local)
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 429])
    expect(answers[0]!.body).not.toHaveProperty('id')
  })

  it.each([
    ['settle', SETTLE, { policy: 'open', id: 'a', actual: 1 }],
    ['cancel', CANCEL, { policy: 'open', id: 'a' }],
    ['release', RELEASE, { policy: 'slots-open', id: 'a' }],
    ['release many', RELEASE, { slots: [{ key: 'k', policy: 'slots-open', id: 'a' }] }],
    ['renew', RENEW, { policy: 'slots-open', id: 'a' }],
    ['renew many', RENEW, { slots: [{ key: 'k', policy: 'slots-open', id: 'a' }] }],
  ])('responds to %s with 503', async (_title, path, body) => {
    const {
      status,
      headers,
      body: answer,
    } = await service.post(path, { ...('slots' in body ? {} : { key: 'k' }), ...body })
    expect(status).toBe(503)
    expect(answer.error).toBe('rate_limiter_unavailable')
    expect(headers.has('retry-after')).toBe(true)
  })

  it('refunds 0 units', async () => {
    const { status, body } = await service.post(REFUND, { key: 'k', policy: 'open', timeMs: Date.now() })
    expect([status, body]).toStrictEqual([200, { refunded: 0 }])
  })

  it('still rejects invalid requests', async () => {
    expect((await service.get(`${CHECK}?key=k&policy=open&permits=11`)).status).toBe(400)
    expect((await service.get(`${CHECK}?key=%0A&policy=open`)).status).toBe(400)
  })

  it('is DEGRADED with 200, or with 503 if configured', async () => {
    for (const path of ['/healthz', '/actuator/health', '/readyz']) {
      const { status, body } = await service.get(path)
      expect(status).toBe(200)
      expect(body).toMatchObject({ status: 'DEGRADED', components: { store: { status: 'DOWN' } } })
      expect((await strict.get(path)).status).toBe(503)
    }
  })

  it('is visible in the metrics', async () => {
    const exposition = await expositionAt(service.url)
    expect(valueIn(exposition, 'rate_limiter_store_up')).toBe(0)
    expect(valueIn(exposition, 'rate_limiter_store_errors_total')).toBeGreaterThan(0)
    for (const mode of ['open', 'closed', 'local']) {
      expect(valueIn(exposition, 'rate_limiter_degraded_total', { mode })).toBeGreaterThan(0)
    }
  })

  it('is logged once when it fails and once when it recovers, and then counts again', async () => {
    const lines = () =>
      service.logged.map(({ level, msg }) => `${level}: ${msg}`).filter((line) => line.includes('Store'))
    expect(lines()).toStrictEqual(['error: Store unavailable; each policy uses its onStoreFailure'])
    redis = await startRedis([], { port: redis.port })
    await until('the store to be back', async () => (await service.get('/healthz')).body.status === 'UP')
    await until('the log to say so', () => lines().length > 1)
    expect(lines().slice(1)).toStrictEqual(['info: Store available again'])
    const { status, headers, body } = await service.get(`${CHECK}?key=after&policy=open`)
    expect(status).toBe(200)
    expect(body.remaining).toBe(9)
    expect(headers.has('x-ratelimit-degraded')).toBe(false)
    const exposition = await expositionAt(service.url)
    expect(valueIn(exposition, 'rate_limiter_store_up')).toBe(1)
    expect(valueIn(exposition, 'rate_limiter_breaker_state', { state: 'closed' })).toBe(1)
  })
})

describe('a store that rejects writes', () => {
  it('is reported as unavailable even with few checks, and recovers', async () => {
    const redis = await startRedis()
    const service = await startService(fileFor(redis.url))
    const status = async () => (await service.get('/healthz')).body.status
    try {
      expect(await status()).toBe('UP')
      await redis.ask('CONFIG SET maxmemory 1')
      await until('the health to say so', async () => (await status()) === 'DEGRADED')
      expect((await service.get(`${CHECK}?key=k&policy=open`)).body.degraded).toBe('open')
      expect(valueIn(await expositionAt(service.url), 'rate_limiter_store_up')).toBe(0)
      // Only the health is requested, at most as often as it is probed.
      await until('the log to say so', async () => (await status()) !== '' && service.logged.length > 0)
      await redis.ask('CONFIG SET maxmemory 0')
      await until('the store to be back', async () => (await status()) === 'UP')
    } finally {
      await service.close()
      await redis.stop()
    }
  })
})

describe('a store that was never available', () => {
  it('is logged once, with the reason, before the first request', async () => {
    const service = await startService(fileFor(`redis://127.0.0.1:${await freePort()}`))
    try {
      await until('the line', () => service.logged.length > 0)
      expect(service.logged).toMatchObject([
        { level: 'error', msg: expect.stringContaining('Store unavailable'), err: expect.anything() },
      ])
    } finally {
      await service.close()
    }
  })

  it('does not prevent the start; the health is known once the store has failed', async () => {
    const port = await freePort()
    const service = await startService(fileFor(`redis://:secret-word@127.0.0.1:${port}`))
    try {
      const { status, body } = await service.get('/healthz')
      expect(status).toBe(200)
      expect(body).toMatchObject({
        status: 'DEGRADED',
        components: { store: { details: { kind: 'redis' } } },
      })
      expect((await service.get(`${CHECK}?key=k&policy=open`)).status).toBe(200)
      expect((await service.get(`${CHECK}?key=k&policy=closed`)).status).toBe(503)
      expect(JSON.stringify([service.logged, (await service.get('/actuator/info')).body])).not.toContain(
        'secret-word',
      )
    } finally {
      await service.close()
    }
  })
})
