import { fixedWindow, type TakeRequest, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { fromDecision, startLoad } from './src/load.js'

const CUTS = 50

let redis: RedisServer
beforeEach(async () => {
  redis = await startRedis()
})
afterEach(() => redis?.stop())

it('connections cut every 100 ms: unwritten checks wait, written checks are not sent again', async () => {
  const tally = fixedWindow({ limit: 1_000_000_000, window: '365d', name: 'tally' })
  let [unwritten, written, busy] = [0, 0, 0]
  const store = withFallback(new RedisStore(redis.url), {
    // Long, so that a busy machine does not let written checks time out.
    deadlineMs: 2000,
    onEvent(event) {
      if (event.type === 'degraded' && event.reason === 'overload') busy++
      if (event.type !== 'call-failed') return
      // Redis is up, so only a check that waits for a connection can time out.
      if (event.isTimeout || (event.error as Error).cause === 'unreachable') unwritten++
      else written++
    },
  })
  await store.peek({ policy: tally, key: 'k', cost: 1 })
  const load = startLoad({
    perSecond: 3000,
    // Each check has its own key, so that a missing charge cannot hide a second one.
    target: (n) => ({ policy: 'tally', key: `k${n}` }),
    ask: async (_, key) => fromDecision(await store.check({ policy: tally, key, cost: 1 })),
  })
  try {
    await pause(1500)
    for (let i = 0; i < CUTS; i++) {
      await redis.ask('CLIENT KILL TYPE normal')
      await pause(100)
    }
    await load.stop()

    const failed = load.made.filter(({ degraded }) => degraded !== undefined)
    const slowestMs = highest(load.made.map(({ tookMs }) => tookMs))
    const answered = load.made.length - failed.length
    const charged = await chargedOf(load.made.map(({ key }) => ({ policy: tally, key, cost: 1 })))
    const executed = charged.reduce((sum, units) => sum + units, 0)
    report({
      name: 'client-kill',
      place: 4,
      fault: '`CLIENT KILL` of all clients every 100 ms',
      promise:
        'no check fails that was not written; a written check without a reply gets the policy’s fallback and is not sent again',
      seen:
        `${whole(load.made.length)} checks, ${CUTS} cuts: ${whole(failed.length)} failed, ${unwritten} of them ` +
        `unwritten; Redis executed ${whole(executed)}: the ${whole(answered)} with a reply and ${executed - answered} ` +
        `failed ones, none twice`,
      figures: {
        checks: load.made.length,
        cuts: CUTS,
        failed: failed.length,
        written,
        unwritten,
        failedWhileThisProcessWasBusy: busy,
        answered,
        executed,
        slowestMs,
      },
    })
    expect(load.errors).toStrictEqual([])
    // A cut connection is not an outage: the breaker stays closed, and the next checks go to Redis.
    expect(failed.length).toBe(written + unwritten + busy)
    expect(unwritten).toBe(0)
    expect(written).toBeGreaterThan(0)
    expect(executed).toBeGreaterThanOrEqual(answered)
    expect(highest(charged)).toBe(1)
  } finally {
    await load.stop()
    await store.close()
  }
})

/** The units that Redis has charged for each request. */
async function chargedOf(requests: readonly TakeRequest[]): Promise<number[]> {
  const store = new RedisStore(redis.url)
  const charged: number[] = []
  try {
    for (let i = 0; i < requests.length; i += 500) {
      const decisions = await Promise.all(requests.slice(i, i + 500).map((request) => store.peek(request)))
      for (const { limit, remaining } of decisions) charged.push(limit - remaining)
    }
    return charged
  } finally {
    await store.close()
  }
}
