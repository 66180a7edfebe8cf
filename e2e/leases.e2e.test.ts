import { definePolicy } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { report, whole } from './src/figures.js'
import { type Check, verify } from './src/history/history.js'
import { type LimiterProcess, startLimiter } from './src/processes/limiter-process.js'
import { nowMs } from './src/wall-clock.js'

const MAX_AGE_MS = 400
/** Longer than a leased unit counts anywhere: a window and a lease. */
const STOP_MS = 1600
/** The wall clock of each process. */
const CLOCKS_MS = [0, 300_000, -300_000, 0]
/** Checks per second of each process, for four keys: 80 % of the limit of all, and four times the limit. */
const LOW = 80
const HIGH = 400

const LIMITS = {
  'fixed-window': { algorithm: 'fixed-window', limit: 100, window: '1s' },
  'sliding-window-log': { algorithm: 'sliding-window-log', limit: 100, window: '1s' },
  'sliding-window-counter': { algorithm: 'sliding-window-counter', limit: 100, window: '1s' },
  'token-bucket': { algorithm: 'token-bucket', capacity: 100, refillRate: 100 },
} as const

let redis: RedisServer
let limiters: LimiterProcess[]
beforeEach(async () => {
  // Redis writes to disk before it answers: no unit is lost when it is killed.
  redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always'])
  limiters = []
})
afterEach(async () => {
  await Promise.all(limiters?.map((limiter) => limiter.stop()) ?? [])
  await redis?.stop()
})

const seen: Record<string, number> = {}

it.each(Object.entries(LIMITS))(
  '%s: processes that stop for longer than a lease, clocks 5 minutes off and a killed Redis never exceed the limit',
  async (algorithm, numbers) => {
    const name = `leased-${algorithm}`
    const lease = { maxAge: `${MAX_AGE_MS}ms`, share: 0.4 }
    const policy = { ...numbers, name, lease, instances: CLOCKS_MS.length, onStoreFailure: 'closed' } as const
    limiters = await Promise.all(CLOCKS_MS.map((skewMs) => startLimiter(redis.url, policy, { skewMs })))
    const loadAll = (perSecond: number) => {
      for (const limiter of limiters) limiter.load(perSecond)
    }
    for (const { process } of limiters.slice(0, 3)) {
      // Below the limit, each process has units in hand. While one is stopped, the others use the limit up.
      loadAll(LOW)
      await pause(1000)
      process.kill('SIGSTOP')
      loadAll(HIGH)
      await pause(STOP_MS)
      process.kill('SIGCONT')
      await pause(400)
    }
    await redis.kill()
    await pause(700)
    await redis.restart()
    const backMs = nowMs()
    await pause(2000)
    const checks = (await Promise.all(limiters.map((limiter) => limiter.stopLoad()))).flat()

    // By start and end of each check, because the time of a leased decision is an estimate.
    const history = checks.map(({ atMs: _, ...check }): Check => check)
    const { violations, exact } = verify(history, definePolicy({ ...numbers, name }))
    const leased = checks.filter((check) => check.leased).length
    seen[`${algorithm}, checks`] = checks.length
    seen[`${algorithm}, admitted`] = exact.admitted
    seen[`${algorithm}, leased`] = leased
    const total = (figure: string) =>
      Object.entries(seen).reduce((sum, [name, value]) => sum + (name.endsWith(figure) ? value : 0), 0)
    report({
      name: 'leases',
      place: 21,
      fault:
        'leases: processes stopped for longer than a lease, clocks 5 minutes off, Redis killed in between',
      promise: 'no interval admits more than the algorithm allows, by the start and the end of each check',
      seen: `${whole(total('checks'))} checks, ${whole(total('leased'))} of them from leases; ${whole(total('admitted'))} admitted, never above the limit`,
      figures: seen,
    })
    expect(violations).toStrictEqual([])
    expect(leased).toBeGreaterThan(100)
    // Redis was lost, and came back.
    expect(checks.some(({ degraded }) => degraded === 'closed')).toBe(true)
    expect(checks.some(({ degraded, startMs }) => degraded === undefined && startMs > backMs)).toBe(true)
  },
)
