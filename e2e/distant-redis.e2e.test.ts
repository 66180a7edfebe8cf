import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { percentile, report, whole } from './src/figures.js'
import type { Check } from './src/history/history.js'
import { createHttpClient } from './src/http-client.js'
import { askService, startLoad } from './src/load.js'
import { type Distance, startDistance } from './src/processes/distance.js'
import { startHealthyRedis } from './src/processes/healthy-redis.js'
import { startLimiter } from './src/processes/limiter-process.js'
import { startService } from './src/processes/service.js'

const EACH_WAY_MS = 15
const PER_SECOND = 400
const CHECKS = 10 * PER_SECOND
const MIN_CHECKS = 1000
const MAX_SHARE = 0.001

let redis: RedisServer
let distance: Distance
beforeEach(async () => {
  redis = await startHealthyRedis()
  distance = await startDistance(redis.port, EACH_WAY_MS)
})
afterEach(async () => {
  await distance?.stop()
  await redis?.stop()
})

it('Redis 30 ms away, 400 checks a second, default deadline: the store decides', async () => {
  const made = { library: await checkByLibrary(), service: await checkByService() }
  const late = await distance.late()
  // While the proxy had no processor time, Redis was more than 30 ms away.
  const wasAsFar = ({ startMs, endMs }: Check) =>
    !late.some(([fromMs, toMs]) => fromMs < endMs && toMs > startMs)
  const figures = {
    library: figuresOf(made.library.filter(wasAsFar)),
    service: figuresOf(made.service.filter(wasAsFar)),
  }
  const inWords = ({ checks, withoutStore, p50Ms }: ReturnType<typeof figuresOf>) =>
    `${withoutStore} of ${whole(checks)} checks decided without Redis, latency p50 ${whole(p50Ms)} ms`
  report({
    name: 'distant-redis',
    place: 15,
    fault: `Redis ${2 * EACH_WAY_MS} ms away, ${PER_SECOND} checks a second`,
    promise: 'less than 0.1 % decided without Redis at the default deadline',
    seen: `library: ${inWords(figures.library)}; service: ${inWords(figures.service)}`,
    figures: Object.fromEntries(
      Object.entries(figures).flatMap(([name, one]) =>
        Object.entries(one).map(([field, value]) => [`${name}, ${field}`, value]),
      ),
    ),
  })
  for (const { checks, withoutStore, p50Ms } of Object.values(figures)) {
    expect(checks).toBeGreaterThanOrEqual(MIN_CHECKS)
    expect(withoutStore / checks).toBeLessThan(MAX_SHARE)
    // The delay was effective.
    expect(p50Ms).toBeGreaterThanOrEqual(2 * EACH_WAY_MS)
  }
})

it('Redis 30 ms away, a busy key with a lease: most checks are decided in the process', async () => {
  const lease = { maxAge: '1s', share: 0.5 } as const
  const policy = {
    algorithm: 'fixed-window',
    limit: 1_000_000,
    window: '365d',
    name: 'leased',
    lease,
  } as const
  const limiter = await startLimiter(distance.url, policy)
  const made = await limiter
    .run({ perSecond: PER_SECOND, checks: CHECKS, perKey: CHECKS, prefix: 'leased' })
    .finally(() => limiter.stop())
  const { checks, withoutStore, p50Ms } = figuresOf(made)
  const leased = made.filter((check) => check.leased).length
  report({
    name: 'distant-redis-leased',
    place: 22,
    fault: `Redis ${2 * EACH_WAY_MS} ms away, ${PER_SECOND} checks a second of one key with a lease of 1 s`,
    promise: 'at least 90 % decided in the process, p50 below 5 ms',
    seen: `${whole(leased)} of ${whole(checks)} checks decided in the process, latency p50 ${p50Ms.toFixed(2)} ms`,
    figures: { checks, withoutStore, leased, p50Ms },
  })
  expect(checks).toBe(CHECKS)
  expect(leased / checks).toBeGreaterThanOrEqual(0.9)
  expect(p50Ms).toBeLessThan(5)
})

async function checkByLibrary(): Promise<Check[]> {
  const policy = { algorithm: 'fixed-window', limit: 1_000_000, window: '365d', name: 'distant' } as const
  const limiter = await startLimiter(distance.url, policy)
  try {
    return await limiter.run({ perSecond: PER_SECOND, checks: CHECKS, perKey: 1, prefix: 'library' })
  } finally {
    await limiter.stop()
  }
}

async function checkByService(): Promise<Check[]> {
  const service = await startService(`store: '${distance.url}'
policies:
  distant: { algorithm: fixed-window, limit: 1000000, window: 365d }
`)
  const http = createHttpClient()
  try {
    await askService(http, service.url, 'distant', 'first')
    const load = startLoad({
      perSecond: PER_SECOND,
      target: (n) => ({ policy: 'distant', key: `service-${n}` }),
      ask: (policy, key) => askService(http, service.url, policy, key),
    })
    await pause((1000 * CHECKS) / PER_SECOND)
    await load.stop()
    expect(load.errors).toStrictEqual([])
    return load.made
  } finally {
    http.close()
    await service.stop()
  }
}

function figuresOf(made: readonly Check[]) {
  return {
    checks: made.length,
    withoutStore: made.filter(({ degraded }) => degraded !== undefined).length,
    open: made.filter(({ degraded }) => degraded === 'open').length,
    p50Ms: percentile(
      made.map(({ startMs, endMs }) => endMs - startMs),
      0.5,
    ),
  }
}
