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

it('connections cut every 100 ms: what was not written waits, what was is not sent again', async () => {
  const tally = fixedWindow({ limit: 1_000_000_000, window: '365d', name: 'tally' })
  let [unwritten, written, busy] = [0, 0, 0]
  const store = withFallback(new RedisStore(redis.url), {
    onEvent(event) {
      if (event.type !== 'call-failed') return
      const { message, cause } = event.error as Error
      // Redis is there and fast: only what waits for a connection can run out of time.
      if (cause === 'timeout-of-busy-process') busy++
      else if (event.isTimeout || message.includes('nothing could be sent')) unwritten++
      else written++
    },
  })
  await store.peek({ policy: tally, key: 'k', cost: 1 })
  const load = startLoad({
    perSecond: 3000,
    // A key for each: what one was charged too often is not made up for by what another was not.
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
    const run = charged.reduce((sum, units) => sum + units, 0)
    report({
      name: 'client-kill',
      place: 4,
      fault: '`CLIENT KILL` of all clients every 100 ms',
      promise:
        'no failed check that had not been written; one that had been gets the policy’s answer and is not sent again',
      seen:
        `${whole(load.made.length)} checks, ${CUTS} cuts: ${whole(failed.length)} failed, ${unwritten} of them ` +
        `unwritten; Redis ran ${whole(run)}: the ${whole(answered)} that were answered and ${run - answered} of those ` +
        `that failed, none twice`,
      figures: {
        checks: load.made.length,
        cuts: CUTS,
        failed: failed.length,
        written,
        unwritten,
        failedWhileThisProcessWasBusy: busy,
        answered,
        run,
        slowestMs,
      },
    })
    expect(load.errors).toStrictEqual([])
    // A cut is no outage: the breaker stays closed, and whatever comes next is asked of Redis.
    expect(failed.length).toBe(written + unwritten + busy)
    expect(unwritten).toBe(0)
    expect(written).toBeGreaterThan(0)
    expect(run).toBeGreaterThanOrEqual(answered)
    expect(highest(charged)).toBe(1)
  } finally {
    await load.stop()
    await store.close()
  }
})

/** What Redis has taken of each. */
async function chargedOf(requests: readonly TakeRequest[]): Promise<number[]> {
  const store = new RedisStore(redis.url)
  const charged: number[] = []
  try {
    for (let i = 0; i < requests.length; i += 500) {
      const looks = await Promise.all(requests.slice(i, i + 500).map((request) => store.peek(request)))
      for (const { limit, remaining } of looks) charged.push(limit - remaining)
    }
    return charged
  } finally {
    await store.close()
  }
}
