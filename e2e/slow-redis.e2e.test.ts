import { withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { fiveLimits, inTurn, violationsOf } from './src/five-limits.js'
import { fromDecision, startLoad } from './src/load.js'
import { type Detour, startProxy, type Trouble } from './src/proxy.js'
import { nowMs } from './src/wall-clock.js'

const DEADLINE_MS = 50
/** For timers, and a machine that has other things to do. */
const MARGIN_MS = 50
/** 2 s for what is still under way when the trouble ends, and 2 s to be back. */
const BACK_WITHIN_MS = 4000

const TROUBLES: [string, Trouble][] = [
  ['200 ms late', { delayMs: 200 }],
  ['2 s late', { delayMs: 2000 }],
  ['pieces lost', 'pieces are lost'],
  ['silent', 'all is lost'],
]

let redis: RedisServer
let proxy: Detour
beforeEach(async () => {
  redis = await startRedis()
  proxy = await startProxy(redis.port)
})
afterEach(async () => {
  await proxy?.stop()
  await redis?.stop()
})

it('Redis that answers late, in part or not at all: every check is answered within its deadline', async () => {
  const limits = fiveLimits()
  const store = withFallback(new RedisStore(proxy.url, { rememberRefusalsMs: 0 }), {
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
    for (const [name, trouble] of TROUBLES) {
      const fromMs = nowMs()
      proxy.trouble = trouble
      await pause(2500)
      const toMs = nowMs()
      proxy.trouble = 'none'
      // A connection on which something was lost has lost its order. Such a way is broken, not slow.
      if (trouble === 'pieces are lost') proxy.cut()
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
      fault: 'Redis answering 200 ms late, 2 s late, in part, not at all',
      promise: 'every answer within the deadline (50 ms) and a margin (50 ms)',
      seen:
        `${whole(made.length)} checks, the slowest ${whole(slowestMs)} ms; limits exact ` +
        `${whole(highest(backMs))} ms after each trouble at the latest`,
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
