import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ACQUIRE,
  BATCH,
  CHECK,
  RELEASE,
  REMAINING,
  RENEW,
  RESET,
  startService,
  type TestService,
} from './start-service.js'

const FILE = `
callers:
  - { name: all, token: token-of-all-callers }
  - { name: narrow, token: token-of-the-narrow-one, keyPrefix: "team:", policies: [reports] }
policies:
  reports: { algorithm: concurrency, limit: 2, ttl: 90s }
  brief:   { algorithm: concurrency, limit: 1, ttl: 1s }
  rate:    { algorithm: fixed-window, limit: 5, window: 366d }
rules:
  - { name: reports, match: { path: /reports }, key: all, policy: reports }
`

/** Slots over HTTP, on any store. */
export function describeSlots(store: () => string, newKey: () => string): void {
  describe('slots', () => {
    let service: TestService
    beforeAll(async () => {
      service = await startService(`store: ${store()}\n${FILE}`)
    })
    afterAll(() => service?.close())

    const policy = 'reports'
    const headers = { authorization: 'Bearer token-of-all-callers' }
    const post = (path: string, body: object, token = 'token-of-all-callers') =>
      service.post(path, body, { headers: { authorization: `Bearer ${token}` } })

    it('are acquired up to the limit, released, and acquired again', async () => {
      const key = newKey()
      const first = await post(ACQUIRE, { key, policy })
      expect(first.status).toBe(200)
      expect(first.body).toStrictEqual({
        allowed: true,
        key,
        algorithm: 'CONCURRENCY',
        policy,
        limit: 2,
        remaining: 1,
        resetAfterSeconds: 90,
        retryAfterSeconds: 0,
        message: 'Request allowed',
        timeMs: expect.any(Number),
        id: expect.stringMatching(/^[!-~]{8,128}$/),
        ttlSeconds: 90,
      })
      expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
      expect(first.headers.get('ratelimit-policy')).toBe('"reports";q=2;qu="concurrent-requests"')
      expect((await post(ACQUIRE, { key, policy })).body.remaining).toBe(0)
      const denied = await post(ACQUIRE, { key, policy })
      expect(denied.status).toBe(429)
      expect(denied.body).toStrictEqual({
        allowed: false,
        key,
        algorithm: 'CONCURRENCY',
        policy,
        limit: 2,
        remaining: 0,
        resetAfterSeconds: expect.any(Number),
        retryAfterSeconds: 1,
        message: 'Too many requests in flight',
        timeMs: expect.any(Number),
        reason: 'slot',
      })
      expect(denied.headers.get('retry-after')).toBe('1')
      expect((await post(RELEASE, { key, policy, id: first.body.id })).body).toStrictEqual({ released: true })
      expect((await post(ACQUIRE, { key, policy })).status).toBe(200)
    })

    it('are released once; an unknown slot is not an error', async () => {
      const key = newKey()
      const { id } = (await post(ACQUIRE, { key, policy })).body
      const results = [await post(RELEASE, { key, policy, id }), await post(RELEASE, { key, policy, id })]
      expect(results.map(({ status, body }) => [status, body])).toStrictEqual([
        [200, { released: true }],
        [200, { released: false }],
      ])
    })

    it('are acquired once per id, so that a request can be repeated', async () => {
      const key = newKey()
      const request = { key, policy, id: 'mine' }
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(ACQUIRE, request)))
      expect(answers.map(({ status, body }) => [status, body.id])).toStrictEqual(
        Array(10).fill([200, 'mine']),
      )
      expect((await post(ACQUIRE, { key, policy })).body.remaining).toBe(0)
      expect((await post(ACQUIRE, request)).status).toBe(200)
    })

    it('are renewed only while they are held', async () => {
      const key = newKey()
      const { id } = (await post(ACQUIRE, { key, policy })).body
      expect((await post(RENEW, { key, policy, id })).body).toStrictEqual({ renewed: true })
      await post(RELEASE, { key, policy, id })
      expect((await post(RENEW, { key, policy, id })).body).toStrictEqual({ renewed: false })
    })

    it('expire after their ttl unless they are renewed', async () => {
      const [kept, lost] = [newKey(), newKey()]
      const slots: object[] = []
      for (const key of [kept, lost]) {
        const { body } = await post(ACQUIRE, { key, policy: 'brief' })
        expect(body.ttlSeconds).toBe(1)
        slots.push({ key, policy: 'brief', id: body.id })
      }
      const end = Date.now() + 1500
      while (Date.now() < end) {
        expect((await post(RENEW, slots[0]!)).body).toStrictEqual({ renewed: true })
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect((await post(ACQUIRE, { key: kept, policy: 'brief' })).status).toBe(429)
      expect((await post(ACQUIRE, { key: lost, policy: 'brief' })).status).toBe(200)
      expect((await post(RENEW, slots[1]!)).body).toStrictEqual({ renewed: false })
    })

    it('are renewed and released in lists, with one result each', async () => {
      const [a, b] = [newKey(), newKey()]
      const held = (await post(ACQUIRE, { key: a, policy })).body.id
      const slots = [
        { key: a, policy, id: held },
        { key: b, policy, id: 'none' },
      ]
      const renewed = await post(RENEW, { slots })
      expect(renewed.status).toBe(200)
      expect(renewed.body).toStrictEqual({ results: [{ renewed: true }, { renewed: false }] })
      const released = await post(RELEASE, { slots })
      expect(released.body).toStrictEqual({ results: [{ released: true }, { released: false }] })
    })

    it('are shown by remaining, and freed by reset', async () => {
      const key = newKey()
      const { id } = (await post(ACQUIRE, { key, policy })).body
      const query = `?key=${key}&policy=${policy}`
      expect((await service.get(REMAINING + query, { headers })).body).toMatchObject({ remaining: 1 })
      await service.asAdmin(RESET + query, { method: 'DELETE' })
      expect((await service.get(REMAINING + query, { headers })).body).toMatchObject({ remaining: 2 })
      expect((await post(RENEW, { key, policy, id })).body).toStrictEqual({ renewed: false })
    })

    it.each([
      ['a check', CHECK, { key: 'a', policy }, 'policy'],
      ['a batch', BATCH, { checks: [{ key: 'a', policy }] }, 'checks[0].policy'],
      ['an atomic batch', BATCH, { checks: [{ key: 'a', policy }], atomic: true }, 'checks[0].policy'],
      [
        'a request that such a rule matches',
        CHECK,
        { request: { method: 'GET', path: '/reports' } },
        'request',
      ],
    ])('are rejected by %s with 400, which refers to acquire', async (_title, path, body, field) => {
      const answer = await post(path, body)
      expect([answer.status, answer.body.field]).toStrictEqual([400, field])
      expect(answer.body.message).toContain('/api/v1/rate-limit/acquire')
    })

    it.each([
      ['acquire by a policy without slots', ACQUIRE, { policy: 'rate' }, 'policy'],
      ['acquire by the default policy', ACQUIRE, {}, 'policy'],
      ['acquire with permits', ACQUIRE, { policy, permits: 1 }, 'permits'],
      ['acquire with an empty id', ACQUIRE, { policy, id: '' }, 'id'],
      ['release without an id', RELEASE, { policy }, 'id'],
      ['release by a policy without slots', RELEASE, { policy: 'rate', id: 'a' }, 'policy'],
      ['renew an id of 129 characters', RENEW, { policy, id: 'a'.repeat(129) }, 'id'],
    ])('%s gets 400 with the field', async (_title, path, fields, field) => {
      const { status, body } = await post(path, { key: newKey(), ...fields })
      expect([status, body.field]).toStrictEqual([400, field])
    })

    it.each([
      ['no slots', { slots: [] }, 'slots'],
      ['too many slots', { slots: Array(1001).fill({ policy, id: 'a' }) }, 'slots'],
      ['slots and a key', { key: 'a', slots: [{ policy, id: 'a' }] }, 'key'],
      ['a slot without an id', { slots: [{ policy, id: 'a' }, { policy }] }, 'slots[1].id'],
      ['a slot of a policy without slots', { slots: [{ policy: 'rate', id: 'a' }] }, 'slots[0].policy'],
      ['a slot of an unknown policy', { slots: [{ policy: 'none', id: 'a' }] }, 'slots[0].policy'],
    ])('a list with %s gets 400 with the field', async (_title, body, field) => {
      for (const path of [RELEASE, RENEW]) {
        const answer = await post(path, body)
        expect([answer.status, answer.body.field]).toStrictEqual([400, field])
      }
    })

    it.each([
      ['acquire', ACQUIRE, {}],
      ['release', RELEASE, { id: 'a' }],
      ['renew', RENEW, { id: 'a' }],
    ])('%s is restricted to the keys and policies of callers', async (_title, path, fields) => {
      expect((await service.post(path, { key: 'team:1', policy, ...fields })).status).toBe(401)
      const asNarrow = (body: object) => post(path, { ...fields, ...body }, 'token-of-the-narrow-one')
      expect((await asNarrow({ key: 'other:1', policy })).body).toMatchObject({
        error: 'forbidden',
        field: 'key',
      })
      expect((await asNarrow({ key: 'team:1', policy: 'brief' })).body).toMatchObject({
        error: 'forbidden',
        field: 'policy',
      })
      expect((await asNarrow({ key: `team:${newKey()}`, policy })).status).toBe(200)
    })

    it('are counted as checks when acquired, and as released, renewed or gone', async () => {
      const key = newKey()
      const { id } = (await post(ACQUIRE, { key, policy })).body
      await post(RENEW, { key, policy, id })
      await post(RELEASE, { key, policy, id })
      await post(RELEASE, { key, policy, id })
      const { body } = await service.get('/metrics')
      expect(body).toMatch(/rate_limiter_requests_total\{algorithm="CONCURRENCY",allowed="true"\} [1-9]/)
      for (const event of ['released', 'renewed', 'gone']) {
        expect(body).toMatch(new RegExp(`api_slots_total\\{event="${event}"\\} [1-9]`))
      }
      expect(body).toMatch(/api_responses_total\{route="slot",status="2xx"\} [1-9]/)
    })
  })
}
