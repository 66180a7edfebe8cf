import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CANCEL,
  CHECK,
  REFUND,
  REMAINING,
  RESERVE,
  SETTLE,
  startService,
  type TestService,
} from './start-service.js'

/** Windows and buckets so slow that no unit is refilled during a test. */
const FILE = `
default: tokens
callers:
  - { name: all, token: token-of-all-callers }
  - { name: narrow, token: token-of-the-narrow-one, keyPrefix: "team:", policies: [tokens] }
policies:
  tokens: { algorithm: fixed-window, limit: 1000, window: 366d }
  log:    { algorithm: sliding-window-log, limit: 1000, window: 366d }
  count:  { algorithm: sliding-window-counter, limit: 1000, window: 366d }
  bucket: { algorithm: token-bucket, capacity: 1000, refillRate: 1/30d }
  leaky:  { algorithm: leaky-bucket, capacity: 1000, leakRate: 1/1d }
  slots:  { algorithm: concurrency, limit: 2 }
`

const RESERVABLE = ['tokens', 'log', 'count', 'bucket']

/** Reservations and refunds over HTTP, on any store. */
export function describeReservations(store: () => string, newKey: () => string): void {
  describe('reservations', () => {
    let service: TestService
    beforeAll(async () => {
      service = await startService(`store: ${store()}\n${FILE}`)
    })
    afterAll(() => service?.close())

    const post = (path: string, body: object, token = 'token-of-all-callers') =>
      service.post(path, body, { headers: { authorization: `Bearer ${token}` } })
    const left = async (policy: string, key: string) => {
      const headers = { authorization: 'Bearer token-of-all-callers' }
      return (await service.get(`${REMAINING}?policy=${policy}&key=${key}`, { headers })).body.remaining
    }

    it.each(RESERVABLE)('%s: reserves, and gives back the unused units', async (policy) => {
      const key = newKey()
      const id = `id-of-${key}`
      const { status, headers, body } = await post(RESERVE, { key, policy, permits: 400, id, ttl: '1h' })
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        allowed: true,
        key,
        algorithm: body.algorithm,
        policy,
        limit: 1000,
        remaining: 600,
        resetAfterSeconds: expect.any(Number),
        retryAfterSeconds: 0,
        message: 'Request allowed',
        timeMs: expect.any(Number),
        id,
        reserved: 400,
      })
      expect(headers.get('x-ratelimit-remaining')).toBe('600')
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"${policy}";r=600;t=\\d+$`))
      const settled = await post(SETTLE, { key, policy, id, actual: 150 })
      expect(settled.status).toBe(200)
      expect(settled.body).toStrictEqual({ settled: true, refunded: 250, charged: 0, overBy: 0 })
      expect(await left(policy, key)).toBe(850)
    })

    it.each(RESERVABLE)('%s: charges units beyond the reserved ones', async (policy) => {
      const key = newKey()
      const { body } = await post(RESERVE, { key, policy, permits: 900 })
      const settled = await post(SETTLE, { key, policy, id: body.id, actual: 1100 })
      expect(settled.body).toStrictEqual({ settled: true, refunded: 0, charged: 200, overBy: 100 })
      expect(await left(policy, key)).toBe(0)
    })

    it.each(RESERVABLE)('%s: a cancelled reservation gives back all', async (policy) => {
      const key = newKey()
      const { body } = await post(RESERVE, { key, policy, permits: 400 })
      const cancelled = await post(CANCEL, { key, policy, id: body.id })
      expect(cancelled.body).toMatchObject({ settled: true, charged: 0, overBy: 0 })
      // A full bucket gains a small part of a unit meanwhile, and has no room for it.
      expect(cancelled.body.refunded).toBeCloseTo(400, 3)
      expect(await left(policy, key)).toBe(1000)
    })

    it('an estimate above the limit reserves the limit', async () => {
      const { status, body } = await post(RESERVE, { key: newKey(), permits: 5000 })
      expect(status).toBe(200)
      expect(body).toMatchObject({ allowed: true, remaining: 0, reserved: 1000 })
    })

    it('reserves one unit under a new id by default', async () => {
      const key = newKey()
      const answers = [await post(RESERVE, { key }), await post(RESERVE, { key })]
      expect(answers.map(({ body }) => body.reserved)).toStrictEqual([1, 1])
      const [first, second] = answers.map(({ body }) => body.id)
      expect(first).toMatch(/^[!-~]{8,128}$/)
      expect(second).not.toBe(first)
    })

    it('denies with 429 and headers, without reserving; the id stays unused', async () => {
      const key = newKey()
      await post(RESERVE, { key, permits: 900, id: 'first' })
      const { status, headers, body } = await post(RESERVE, { key, permits: 200, id: 'second' })
      expect(status).toBe(429)
      expect(body).toMatchObject({
        allowed: false,
        remaining: 100,
        reserved: 0,
        id: 'second',
        message: 'Rate limit exceeded',
      })
      expect(headers.get('retry-after')).toBe(String(body.retryAfterSeconds))
      await post(CANCEL, { key, id: 'first' })
      expect((await post(RESERVE, { key, permits: 200, id: 'second' })).status).toBe(200)
    })

    describe('a request that is repeated with its id', () => {
      it('reserves once', async () => {
        const key = newKey()
        const request = { key, permits: 400, id: 'once' }
        const first = await post(RESERVE, request)
        const again = await post(RESERVE, request)
        expect(again.status).toBe(200)
        expect(again.body).toStrictEqual({ ...first.body, repeated: true })
        expect(await left('tokens', key)).toBe(600)
      })

      it('reserves once for concurrent requests', async () => {
        const key = newKey()
        const all = await Promise.all(
          Array.from({ length: 30 }, () => post(RESERVE, { key, permits: 30, id: 'at-once' })),
        )
        expect(all.filter(({ body }) => body.repeated === undefined)).toHaveLength(1)
        expect(await left('tokens', key)).toBe(970)
      })

      it('settles once', async () => {
        const key = newKey()
        await post(RESERVE, { key, permits: 400, id: 'once' })
        const all = await Promise.all(
          Array.from({ length: 30 }, (_, i) =>
            i % 2 ? post(CANCEL, { key, id: 'once' }) : post(SETTLE, { key, id: 'once', actual: 0 }),
          ),
        )
        expect(all.map(({ status }) => status)).toStrictEqual(Array(30).fill(200))
        expect(all.filter(({ body }) => body.settled)).toHaveLength(1)
        expect(all.find(({ body }) => !body.settled)!.body).toStrictEqual({ settled: false, reason: 'ended' })
        expect(await left('tokens', key)).toBe(1000)
      })

      it('takes nothing if its cancellation arrived first', async () => {
        const key = newKey()
        const cancelled = await post(CANCEL, { key, id: 'late' })
        expect(cancelled.status).toBe(200)
        expect(cancelled.body).toStrictEqual({ settled: false, reason: 'unknown' })
        const { status, body } = await post(RESERVE, { key, permits: 5, id: 'late' })
        expect(status).toBe(409)
        expect(body).toMatchObject({ error: 'conflict', field: 'id' })
        expect(await left('tokens', key)).toBe(1000)
      })
    })

    it('an id that was used with other permits gets 409', async () => {
      const key = newKey()
      await post(RESERVE, { key, permits: 5, id: 'used' })
      expect((await post(RESERVE, { key, permits: 6, id: 'used' })).status).toBe(409)
      expect((await post(RESERVE, { key: newKey(), permits: 6, id: 'used' })).status).toBe(200)
      expect(await left('tokens', key)).toBe(995)
    })

    it.each([
      ['reserve without permits', RESERVE, { permits: 0 }, 'permits'],
      ['half a permit', RESERVE, { permits: 1.5 }, 'permits'],
      ['more permits than a safe integer', RESERVE, { permits: 1e17 }, 'permits'],
      ['an id with a space', RESERVE, { id: 'a b' }, 'id'],
      ['an empty id', RESERVE, { id: '' }, 'id'],
      ['an id of 129 characters', RESERVE, { id: 'a'.repeat(129) }, 'id'],
      ['an id in Korean', RESERVE, { id: '예약' }, 'id'],
      ['a ttl that is too short', RESERVE, { ttl: '500ms' }, 'ttl'],
      ['a ttl that is too long', RESERVE, { ttl: 86_400_001 }, 'ttl'],
      ['a ttl that is not a duration', RESERVE, { ttl: 'soon' }, 'ttl'],
      ['a leaky bucket', RESERVE, { policy: 'leaky' }, 'policy'],
      ['a concurrency policy', RESERVE, { policy: 'slots' }, 'policy'],
      ['an unknown field', RESERVE, { maxOpen: 5 }, 'maxOpen'],
      ['settle without an id', SETTLE, { actual: 1 }, 'id'],
      ['settle without actual', SETTLE, { id: 'a' }, 'actual'],
      ['a negative actual', SETTLE, { id: 'a', actual: -1 }, 'actual'],
      ['an actual above all limits', SETTLE, { id: 'a', actual: 1e15 }, 'actual'],
      ['settle with permits', SETTLE, { id: 'a', actual: 1, permits: 1 }, 'permits'],
      ['cancel without an id', CANCEL, {}, 'id'],
      ['cancel with actual', CANCEL, { id: 'a', actual: 1 }, 'actual'],
      ['cancel by a leaky bucket', CANCEL, { id: 'a', policy: 'leaky' }, 'policy'],
      ['a refund without a time', REFUND, {}, 'timeMs'],
      ['a refund with a time as text', REFUND, { timeMs: '1' }, 'timeMs'],
      ['a refund with a negative time', REFUND, { timeMs: -1 }, 'timeMs'],
      ['a refund of 0 units', REFUND, { timeMs: 1, permits: 0 }, 'permits'],
      ['a refund of more than the limit', REFUND, { timeMs: 1, permits: 1001 }, 'permits'],
      ['a refund of a slot', REFUND, { timeMs: 1, policy: 'slots' }, 'policy'],
    ])('%s gets 400 with the field', async (_title, path, fields, field) => {
      const key = newKey()
      const { status, body } = await post(path, { key, ...fields })
      expect([status, body.field]).toStrictEqual([400, field])
      expect(await left('tokens', key)).toBe(1000)
    })

    it.each([
      ['reserve', RESERVE, {}],
      ['settle', SETTLE, { id: 'a', actual: 1 }],
      ['cancel', CANCEL, { id: 'a' }],
      ['refund', REFUND, { timeMs: 1 }],
    ])('%s is restricted to the keys and policies of callers', async (_title, path, fields) => {
      expect((await service.post(path, { key: 'team:1', ...fields })).status).toBe(401)
      const asNarrow = (body: object) => post(path, { ...fields, ...body }, 'token-of-the-narrow-one')
      expect((await asNarrow({ key: 'other:1' })).body).toMatchObject({ error: 'forbidden', field: 'key' })
      expect((await asNarrow({ key: 'team:1', policy: 'log' })).body).toMatchObject({
        error: 'forbidden',
        field: 'policy',
      })
      expect((await asNarrow({ key: `team:${newKey()}` })).status).toBe(200)
      expect((await post(path, { ...fields, key: 'a', policy: 'no-such' })).status).toBe(404)
      expect((await service.get(path)).status).toBe(405)
    })

    it('counts reservations as checks, and settlements by their result', async () => {
      const key = newKey()
      await post(RESERVE, { key, id: 'counted' })
      await post(CANCEL, { key, id: 'counted' })
      const { body } = await service.get('/metrics')
      expect(body).toMatch(/rate_limiter_policy_requests_total\{policy="tokens",allowed="true"\} [1-9]/)
      expect(body).toMatch(/api_settlements_total\{result="settled"\} [1-9]/)
      expect(body).toMatch(/api_responses_total\{route="reservation",status="2xx"\} [1-9]/)
    })

    it.each(RESERVABLE)('%s: refunds units of a check by its time', async (policy) => {
      const key = newKey()
      const { body } = await post(CHECK, { key, policy, permits: 10 })
      const refund = { key, policy, permits: 4, timeMs: body.timeMs }
      const { status, body: refunded } = await post(REFUND, refund)
      expect(status).toBe(200)
      expect(refunded).toStrictEqual({ refunded: 4 })
      expect(await left(policy, key)).toBe(994)
    })

    it('refunds 0 units for a time that no longer counts', async () => {
      const key = newKey()
      await post(CHECK, { key, permits: 10 })
      expect((await post(REFUND, { key, permits: 4, timeMs: 1000 })).body).toStrictEqual({ refunded: 0 })
      expect(await left('tokens', key)).toBe(990)
    })
  })
}
