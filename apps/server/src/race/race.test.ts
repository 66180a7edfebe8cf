import { MemoryStore } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../../test/start-service.js'
import { memoryNaiveCounter } from './naive-counter.js'
import { race } from './race.js'

const RACE = '/api/v1/admin/race'

describe('a race in memory', () => {
  it.each([
    [2, 1],
    [50, 10],
    [200, 100],
  ])(
    'of %i callers with a limit of %i: the store admits exactly the limit, the naive limiter all callers',
    async (callers, limit) => {
      const store = new MemoryStore()
      const { naive, ours } = await race({ store, counter: memoryNaiveCounter(), callers, limit })
      expect(ours).toMatchObject({ admitted: limit, tooMany: 0 })
      expect(naive).toMatchObject({ admitted: callers, tooMany: callers - limit })
    },
  )

  it('deletes its keys', async () => {
    const store = new MemoryStore()
    const counter = memoryNaiveCounter()
    const written: string[] = []
    const watched = {
      ...counter,
      write: (id: string, count: number) => {
        written.push(id)
        return counter.write(id, count)
      },
    }
    await race({ store, counter: watched, callers: 10, limit: 5 })
    expect(written.length).toBeGreaterThan(0)
    expect(await counter.read(written[0]!)).toBe(0)
    expect(store.size).toBe(0)
  })
})

describe('POST /api/v1/admin/race', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service?.close())

  it('returns the results of both limiters, and the pause', async () => {
    const { status, body } = await service.post(RACE, { callers: 30, limit: 5 }, { headers: service.admin })
    expect(status).toBe(200)
    expect(body).toMatchObject({ callers: 30, limit: 5, store: 'memory', pauseMs: 5 })
    expect(body.naive).toMatchObject({ admitted: 30, tooMany: 25 })
    expect(body.ours).toMatchObject({ admitted: 5, tooMany: 0 })
  })

  it('needs no body', async () => {
    const { status, body } = await service.asAdmin(RACE, { method: 'POST' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ callers: 50, limit: 10, ours: { admitted: 10 } })
  })

  it('runs one at a time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        service.post(RACE, { callers: 200, limit: 1 }, { headers: service.admin }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toContain(200)
    expect(statuses).toContain(409)
    expect((await service.post(RACE, {}, { headers: service.admin })).status).toBe(200)
  })

  it.each([
    [{ callers: 1 }, 'callers'],
    [{ callers: 201 }, 'callers'],
    [{ callers: 1.5 }, 'callers'],
    [{ callers: '50' }, 'callers'],
    [{ limit: 0 }, 'limit'],
    [{ limit: 101 }, 'limit'],
    [{ rounds: 3 }, 'rounds'],
  ])('rejects %j', async (body, field) => {
    const answer = await service.post(RACE, body, { headers: service.admin })
    expect(answer.status).toBe(400)
    expect(answer.body.field).toBe(field)
  })
})
