import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BATCH, CHECK, REFUND, startService, type TestService } from '../../test/start-service.js'

let redis: RedisServer
let service: TestService
beforeAll(async () => {
  redis = await startRedis()
  service = await startService(`
store: { url: '${redis.url}', deadline: 5s }
policies:
  window: { algorithm: fixed-window, limit: 1000, window: 365d, lease: { maxAge: 60s, share: 1 } }
  bucket: { algorithm: token-bucket, capacity: 1000, refillRate: 1/1s, lease: { maxAge: 60s, share: 1 } }
`)
})
afterAll(async () => {
  await service?.close()
  await redis?.stop()
})

it.each(['window', 'bucket'])('%s: a leased decision has leased in its header and body', async (policy) => {
  const path = `${CHECK}?key=k&policy=${policy}`
  const first = await service.get(path)
  expect([first.headers.get('x-ratelimit-leased'), first.body.leased]).toStrictEqual([null, undefined])
  // The third quick check leases units, and the next spends one of them.
  for (let i = 0; i < 2; i++) await service.get(path)
  const { headers, body } = await service.get(path)
  expect(headers.get('x-ratelimit-leased')).toBe('true')
  expect(body).toMatchObject({ allowed: true, leased: true })
  // A bucket does not take leased units back.
  if (policy === 'bucket') return expect(body.timeMs).toBeNull()
  const refund = await service.post(REFUND, { key: 'k', policy, timeMs: body.timeMs })
  expect(refund.body).toStrictEqual({ refunded: 1 })
})

it('a batch has leased for each check', async () => {
  const hot = { key: 'hot', policy: 'window' }
  for (let i = 0; i < 10; i++) await service.post(CHECK, hot)
  const { body } = await service.post(BATCH, { checks: [hot, { key: 'cold', policy: 'window' }] })
  const results = body.results as { leased?: boolean }[]
  expect(results.map(({ leased }) => leased)).toStrictEqual([true, undefined])
})
