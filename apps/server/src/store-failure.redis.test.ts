import { freePort } from '@tidegate/fixtures/free-port'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expositionAt, valueIn } from '../test/metrics.js'
import { BATCH, CHECK, REMAINING, RESET, startService, type TestService } from '../test/service.js'

const policies = `
policies:
  open: { algorithm: fixed-window, limit: 10, window: 1d }
  closed: { algorithm: fixed-window, limit: 10, window: 1d, onStoreFailure: closed }
  local: { algorithm: fixed-window, limit: 10, window: 1d, onStoreFailure: local, instances: 2 }
rules:
  - { name: gate, match: { path: /gate }, key: all, policy: open }
  - { name: vault, match: { path: /vault }, key: all, policy: closed }
`
const fileFor = (url: string, more = '') =>
  `store: { url: '${url}', deadline: 500ms, connectTimeout: 500ms }\n${policies}${more}`

describe('a store that is lost', () => {
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

  it('lets through what is open, says so, and invents no numbers', async () => {
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
      degraded: 'open',
    })
  })

  it('answers 503 for what is closed, and when to come back', async () => {
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

  it('counts its share here for what is local', async () => {
    const answers = []
    for (let i = 0; i < 7; i++) answers.push(await service.get(`${CHECK}?key=share&policy=local`))
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200, 429, 429])
    onlyTheLimit(answers[6]!.headers, 'local')
    expect(Number(answers[6]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answers[6]!.body).toMatchObject({ allowed: false, degraded: 'local', remaining: null })
  })

  it('answers each check of a batch in its own way', async () => {
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
      { allowed: false, degraded: 'closed', message: 'The rate limiter cannot answer right now' },
      { allowed: true, degraded: 'local' },
    ])
    const together = await service.post(BATCH, { checks, atomic: true })
    expect(together.status).toBe(503)
    expect(together.headers.has('retry-after')).toBe(true)
  })

  it('answers for the rules as their policies say', async () => {
    const gate = await service.post(CHECK, { request: { method: 'GET', path: '/gate' } })
    expect(gate.status).toBe(200)
    expect(gate.headers.get('x-ratelimit-degraded')).toBe('open')
    expect((await service.post(CHECK, { request: { method: 'GET', path: '/vault' } })).status).toBe(503)
  })

  it('looks with 200, and knows nothing', async () => {
    const { status, body } = await service.get(`${REMAINING}?key=k&policy=closed`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ allowed: false, remaining: null, degraded: 'closed' })
  })

  it('cannot forget: 503, and whoever asked knows', async () => {
    const { status, headers } = await service.asAdmin(`${RESET}?key=k`, { method: 'DELETE' })
    expect(status).toBe(503)
    expect(headers.has('retry-after')).toBe(true)
  })

  it('still refuses what can never be right', async () => {
    expect((await service.get(`${CHECK}?key=k&policy=open&permits=11`)).status).toBe(400)
    expect((await service.get(`${CHECK}?key=%0A&policy=open`)).status).toBe(400)
  })

  it('is DEGRADED with 200, so that no load balancer takes every instance out; or 503 if the file asks', async () => {
    for (const path of ['/healthz', '/actuator/health', '/readyz']) {
      const { status, body } = await service.get(path)
      expect(status).toBe(200)
      expect(body).toMatchObject({ status: 'DEGRADED', components: { store: { status: 'DOWN' } } })
      expect((await strict.get(path)).status).toBe(503)
    }
  })

  it('is seen in the metrics', async () => {
    const exposition = await expositionAt(service.url)
    expect(valueIn(exposition, 'rate_limiter_store_up')).toBe(0)
    expect(valueIn(exposition, 'rate_limiter_store_errors_total')).toBeGreaterThan(0)
    for (const mode of ['open', 'closed', 'local']) {
      expect(valueIn(exposition, 'rate_limiter_degraded_total', { mode })).toBeGreaterThan(0)
    }
  })

  it('is logged once when it goes and once when it is back, and then counts again', async () => {
    const lines = () =>
      service.logged.map(({ level, msg }) => `${level}: ${msg}`).filter((line) => line.includes('Store'))
    expect(lines()).toStrictEqual(['error: Store unavailable; each policy answers by its onStoreFailure'])
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

describe('a store that answers, and takes nothing', () => {
  it('is known to be lost, however rarely somebody checks, and is back when it takes again', async () => {
    const redis = await startRedis()
    const service = await startService(fileFor(redis.url))
    const status = async () => (await service.get('/healthz')).body.status
    try {
      expect(await status()).toBe('UP')
      await redis.ask('CONFIG SET maxmemory 1')
      await until('the health to say so', async () => (await status()) === 'DEGRADED')
      expect((await service.get(`${CHECK}?key=k&policy=open`)).body.degraded).toBe('open')
      expect(valueIn(await expositionAt(service.url), 'rate_limiter_store_up')).toBe(0)
      // Nothing but the health is asked, no more often than it may be.
      await until('the log to say so', async () => (await status()) !== '' && service.logged.length > 0)
      await redis.ask('CONFIG SET maxmemory 0')
      await until('the store to be back', async () => (await status()) === 'UP')
    } finally {
      await service.close()
      await redis.stop()
    }
  })
})

describe('a store that was never there', () => {
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

  it('does not keep the service from starting; its health is known once the store has failed', async () => {
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
