import { withFallback } from '@tidegate/core'
import { type RedisProxy, type ReplyFault, startRedisProxy } from '@tidegate/fixtures/redis-proxy'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { fiveLimits, inTurn, violationsOf } from './src/five-limits.js'
import { fromDecision, startLoad } from './src/load.js'
import { nowMs } from './src/wall-clock.js'

const DEADLINE_MS = 50
/** For timers and scheduling. */
const MARGIN_MS = 50
/** 2 s for replies in flight when the fault ends, and 2 s to recover. */
const BACK_WITHIN_MS = 4000

const FAULTS: [string, ReplyFault][] = [
  ['200 ms late', { delayMs: 200 }],
  ['2 s late', { delayMs: 2000 }],
  ['pieces lost', 'drop some'],
  ['silent', 'drop all'],
]

let redis: RedisServer
let proxy: RedisProxy
beforeEach(async () => {
  redis = await startRedis()
  proxy = await startRedisProxy(redis.port)
})
afterEach(async () => {
  await proxy?.stop()
  await redis?.stop()
})

it('Redis that responds late, partly or not at all: every check is decided within its deadline', async () => {
  const limits = fiveLimits()
  const store = withFallback(new RedisStore(proxy.url, { denialCacheMs: 0 }), {
    deadlineMs: DEADLINE_MS,
  })
  await store.peek({ policy: limits.get('fixed')!, key: 'first', cost: 1 })
  const load = startLoad({
    perSecond: 2500,
    target: inTurn('slow', 4),
    ask: async (policy, key) =>
      fromDecision(await store.check({ policy: limits.get(policy)!, key, cost: 1 })),
  })
  try {
    await pause(2000)
    const warmMs = nowMs()
    const figures: Record<string, number> = {}
    const backMs: number[] = []
    for (const [name, fault] of FAULTS) {
      const fromMs = nowMs()
      proxy.replyFault = fault
      await pause(2500)
      const toMs = nowMs()
      proxy.replyFault = 'none'
      // A connection that lost a chunk must be replaced, because its replies no longer match its requests.
      if (fault === 'drop some') proxy.cut()
      await pause(BACK_WITHIN_MS + 500)
      const during = load.made.filter(({ startMs }) => startMs > fromMs && startMs < toMs)
      figures[`slowestMs, ${name}`] = highest(during.map(({ tookMs }) => tookMs))
      const lost = load.made.filter(({ startMs, degraded }) => startMs > fromMs && degraded !== undefined)
      expect([name, lost.length > 0]).toStrictEqual([name, true])
      backMs.push(Math.max(0, highest(lost.map(({ endMs }) => endMs)) - toMs))
    }
    await load.stop()

    const made = load.made.filter(({ startMs }) => startMs > warmMs)
    const slowestMs = highest(made.map(({ tookMs }) => tookMs))
    report({
      name: 'slow-redis',
      place: 3,
      fault: 'Redis responding 200 ms late, 2 s late, in part, not at all',
      promise: 'every decision within the deadline (50 ms) and a margin (50 ms)',
      seen:
        `${whole(made.length)} checks, the slowest ${whole(slowestMs)} ms; limits exact ` +
        `${whole(highest(backMs))} ms after each fault at the latest`,
      figures: { checks: made.length, slowestMs, ...figures, exactAfterMs: highest(backMs) },
    })
    expect(load.errors).toStrictEqual([])
    expect(slowestMs).toBeLessThanOrEqual(DEADLINE_MS + MARGIN_MS)
    expect(highest(backMs)).toBeLessThanOrEqual(BACK_WITHIN_MS)
    expect(violationsOf(load.made.filter(({ startMs }) => startMs < warmMs))).toStrictEqual([])
  } finally {
    await load.stop()
    await store.close()
  }
})
