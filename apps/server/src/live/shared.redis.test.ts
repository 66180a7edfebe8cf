import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLive } from '../../test/live-events.js'
import { CHECK, startService, type TestService } from '../../test/service.js'

describe('two services on one Redis', () => {
  let redis: RedisServer
  let a: TestService
  let b: TestService
  beforeAll(async () => {
    redis = await startRedis()
    // Less patient than elsewhere: a lost store is told of only after the deadline, again and again.
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
    service.service.instances
      .list()
      .map(({ id }) => id)
      .toSorted()
  const idOf = ({ service }: TestService) => service.instances.self.id

  it('see each other in what happens', async () => {
    const both = [idOf(a), idOf(b)].toSorted()
    await until('both to be listed', () => listed(a).length === 2 && listed(b).length === 2)
    expect(listed(a)).toStrictEqual(both)
    const stream = await openLive(b)
    const event = await stream.next()
    await stream.close()
    expect(event!.instances.map(({ id }) => id).toSorted()).toStrictEqual(both)
    expect(event!.instance).toBe(idOf(b))
    expect(event!.store).toMatchObject({ kind: 'redis', isUp: true })
  })

  it('ignore lines that no service has written', async () => {
    const now = Date.now()
    for (const line of ['{', '{}', '[]', 'null', '{"id":7}', '"<img>"'])
      await redis.ask(`ZADD rate_limiter:instances ${now} '${line}'`)
    await redis.ask(
      `ZADD rate_limiter:instances ${now} '{"id":"x","host":"h","pid":"1","version":"v","startedMs":1}'`,
    )
    expect(await redis.ask('ZCARD rate_limiter:instances')).toMatch(/:[89]/)
    await new Promise((resolve) => setTimeout(resolve, 5500))
    expect(listed(a)).toStrictEqual([idOf(a), idOf(b)].toSorted())
  })

  it('run the race against it: the naive one lets too many in, ours does not, and no key is left', async () => {
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

  it('show a key as it is for both, and what its next minute will be', async () => {
    for (let i = 0; i < 40; i++) await a.get(`${CHECK}?key=shared&policy=token_bucket`)
    const { body } = await b.asAdmin('/api/v1/admin/keys?key=shared')
    const bucket = body.policies.find(({ policy }: { policy: string }) => policy === 'token_bucket')
    expect(bucket.remaining).toBeLessThan(100)
    expect(bucket.ahead.length).toBeGreaterThan(1)
    expect(bucket.ahead.at(-1)).toStrictEqual({ afterMs: expect.any(Number), remaining: 100 })
    const untouched = body.policies.find(({ policy }: { policy: string }) => policy === 'fixed_window')
    expect(untouched).toMatchObject({ remaining: 100, resetAfterMs: 0, ahead: [] })
  })

  it('lose sight of one that goes', async () => {
    await b.close()
    await until('it to be gone', () => listed(a).length === 1)
    expect(listed(a)).toStrictEqual([idOf(a)])
  })

  it('say in plain words that the store does not answer, and list nobody', async () => {
    const stream = await openLive(a)
    expect((await stream.next())!.state).toBe('well')
    await redis.stop()
    let event = await stream.next()
    await until(
      'it to be noticed',
      async () => {
        await a.get(`${CHECK}?key=k`)
        event = await stream.next()
        return event?.state === 'store-down' && event.instances.length === 0 && event.degraded.totals.open > 0
      },
      { timeoutMs: 30_000 },
    )
    expect(event).toMatchObject({
      message: 'The store does not answer: each policy answers as its onStoreFailure says.',
      store: { isUp: false },
    })
    await stream.close()
    expect((await a.post('/api/v1/admin/race', {}, { headers: a.admin })).status).toBe(503)
    const { status, body } = await a.asAdmin('/api/v1/admin/keys?key=k')
    expect(status).toBe(200)
    expect(body.policies[0]).toMatchObject({ remaining: null, degraded: 'open', ahead: [] })
  })
})
