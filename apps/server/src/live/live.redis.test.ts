import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLive } from '../../test/live-events.js'
import { CHECK, startService, type TestService } from '../../test/start-service.js'

describe('two services on one Redis', () => {
  let redis: RedisServer
  let a: TestService
  let b: TestService
  beforeAll(async () => {
    redis = await startRedis()
    // A shorter deadline than in other tests: each check of a lost store waits for it.
    const yaml = `store: { url: '${redis.url}', deadline: 2s, connectTimeout: 10s }`
    a = await startService(yaml)
    b = await startService(yaml)
  })
  afterAll(async () => {
    await a?.close()
    await b?.close()
    await redis?.stop()
  })
  const listed = (service: TestService) =>
    service.service.instanceRegistry
      .list()
      .map(({ id }) => id)
      .toSorted()
  const idOf = ({ service }: TestService) => service.instanceRegistry.self.id

  it('list each other and any valid entry in live events, and ignore other entries', async () => {
    await until('both to report', async () => (await redis.ask('ZCARD rate_limiter:instances')) === ':2\r\n')
    const valid = '{"id":"other","host":"h","pid":1,"version":"v","startedMs":1}'
    for (const line of [
      '{',
      '{}',
      '[]',
      'null',
      '{"id":7}',
      '"<img>"',
      '{"id":"x","host":"h","pid":"1","version":"v","startedMs":1}',
      valid,
    ])
      await redis.ask(`ZADD rate_limiter:instances ${Date.now()} '${line}'`)
    expect(await redis.ask('ZCARD rate_limiter:instances')).toBe(':10\r\n')
    await until('the entries to be read', () => [a, b].every((service) => listed(service).includes('other')))
    const all = [idOf(a), idOf(b), 'other'].toSorted()
    expect([listed(a), listed(b)]).toStrictEqual([all, all])
    const stream = await openLive(b)
    const event = await stream.next()
    await stream.close()
    expect(event!.instances.map(({ id }) => id).toSorted()).toStrictEqual(all)
    expect(event!.instance).toBe(idOf(b))
    expect(event!.store).toMatchObject({ kind: 'redis', isUp: true })
    await redis.ask(`ZREM rate_limiter:instances '${valid}'`)
  })

  it('run the race: the naive limiter admits too many, the store does not, and no key is left', async () => {
    const { status, body } = await a.post(
      '/api/v1/admin/race',
      { callers: 100, limit: 10 },
      { headers: a.admin },
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({ store: 'redis', pauseMs: 0, ours: { admitted: 10, tooMany: 0 } })
    expect(body.naive.admitted).toBeGreaterThan(10)
    expect(body.naive.tooMany).toBe(body.naive.admitted - 10)
    expect(await redis.ask('KEYS rate_limiter:tidegate-race*')).toMatch(/^\*0\r\n/)
  })

  it('show the shared state of a key, and its forecast', async () => {
    for (let i = 0; i < 40; i++) await a.get(`${CHECK}?key=shared&policy=token_bucket`)
    const { body } = await b.asAdmin('/api/v1/admin/keys?key=shared')
    const bucket = body.policies.find(({ policy }: { policy: string }) => policy === 'token_bucket')
    expect(bucket.remaining).toBeLessThan(100)
    expect(bucket.ahead.length).toBeGreaterThan(1)
    expect(bucket.ahead.at(-1)).toStrictEqual({ afterMs: expect.any(Number), remaining: 100 })
    const untouched = body.policies.find(({ policy }: { policy: string }) => policy === 'fixed_window')
    expect(untouched).toMatchObject({ remaining: 100, resetAfterMs: 0, ahead: [] })
  })

  it('remove an instance that stops', async () => {
    await b.close()
    await until('it to be removed', () => listed(a).length === 1)
    expect(listed(a)).toStrictEqual([idOf(a)])
  })

  it('report that the store is unavailable, and list no keys', async () => {
    const stream = await openLive(a)
    expect((await stream.next())!.state).toBe('well')
    await redis.stop()
    let event = await stream.next()
    await until(
      'the event to report it',
      async () => {
        await a.get(`${CHECK}?key=k`)
        event = await stream.next()
        return event?.state === 'store-down' && event.instances.length === 0 && event.degraded.totals.open > 0
      },
      { timeoutMs: 30_000 },
    )
    expect(event).toMatchObject({
      message: 'Store unavailable: each policy uses its onStoreFailure.',
      store: { isUp: false },
    })
    await stream.close()
    expect((await a.post('/api/v1/admin/race', {}, { headers: a.admin })).status).toBe(503)
    const { status, body } = await a.asAdmin('/api/v1/admin/keys?key=k')
    expect(status).toBe(200)
    expect(body.policies[0]).toMatchObject({ remaining: null, degraded: 'open', ahead: [] })
  })
})
