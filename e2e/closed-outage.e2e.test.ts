import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { fiveLimitsYaml, inTurn } from './src/five-limits.js'
import { CHECK, createHttpClient } from './src/http-client.js'
import { askService, startLoad } from './src/load.js'
import { type ServiceProcess, startService, storeLevels } from './src/processes/service.js'
import { nowMs } from './src/wall-clock.js'

let redis: RedisServer
let service: ServiceProcess
beforeEach(async () => {
  redis = await startRedis()
  service = await startService(
    `store: { url: '${redis.url}', deadline: 250ms, denialCache: 0s }\n${fiveLimitsYaml('closed')}`,
  )
})
afterEach(async () => {
  await service?.stop()
  await redis?.stop()
})

it('`closed` without Redis: 503 with Retry-After and a problem body for every check', async () => {
  const http = createHttpClient()
  await askService(http, service.url, 'fixed', 'first')
  const load = startLoad({
    perSecond: 1000,
    target: inTurn('closed', 1),
    ask: (policy, key) => askService(http, service.url, policy, key),
  })
  try {
    await pause(2000)
    const killedMs = nowMs()
    await redis.kill()
    await pause(1000)
    const url = `${service.url}${CHECK}?policy=log&key=k`
    const jsonResponse = await http.get(url)
    const problem = await http.get(url, { accept: 'application/problem+json' })
    await pause(1000)
    await redis.restart()
    const restartedMs = nowMs()
    await pause(3000)
    await load.stop()

    const lost = load.made.filter(({ degraded }) => degraded !== undefined)
    const backAfterMs = highest(lost.map(({ endMs }) => endMs)) - restartedMs
    report({
      name: 'closed-outage',
      place: 8,
      fault: '`closed` with Redis down',
      promise: '503, Retry-After, problem body',
      seen:
        `${whole(lost.length)} checks got 503 with Retry-After: ${jsonResponse.headers['retry-after']}, none allowed; ` +
        `200 and 429 again ${whole(Math.max(0, backAfterMs))} ms after the restart`,
      figures: { checks: load.made.length, lost: lost.length, backAfterMs },
    })

    expect(load.errors).toStrictEqual([])
    expect(lost.length).toBeGreaterThan(1000)
    expect([...new Set(lost.map(({ status, degraded }) => `${status} ${degraded}`))]).toStrictEqual([
      '503 closed',
    ])
    // Nothing is allowed without Redis.
    expect(
      load.made.filter(({ allowed, startMs }) => allowed && startMs > killedMs && startMs < restartedMs),
    ).toStrictEqual([])
    expect([jsonResponse.status, problem.status]).toStrictEqual([503, 503])
    for (const { headers } of [jsonResponse, problem]) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(headers['x-ratelimit-degraded']).toBe('closed')
    }
    expect(JSON.parse(jsonResponse.body)).toMatchObject({ error: 'rate_limiter_unavailable' })
    expect(problem.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(problem.body)).toMatchObject({ status: 503, title: expect.any(String) })
    expect(backAfterMs).toBeLessThanOrEqual(2000)
    // One log line when Redis is lost and one when it is back.
    expect(storeLevels(service)).toStrictEqual(['error', 'info'])
  } finally {
    await load.stop()
    http.close()
  }
})
