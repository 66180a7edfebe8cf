import { fixedWindow, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type BothLoads, startBothLoads } from './src/both-loads.js'
import { report, whole } from './src/figures.js'
import { fromDecision, startLoad } from './src/load.js'
import { expectAnswers, figuresOf, inWords } from './src/outage.js'
import { nowMs } from './src/wall-clock.js'

const STOPPED_MS = 5000
/**
 * Checks that were made until this long after the stop can be on the wire: two calls may be unanswered, and too few
 * checks arrive within the deadline to fill a third. After the deadline nothing is written.
 */
const ON_THE_WIRE_MS = 50

let redis: RedisServer
let loads: BothLoads
beforeEach(async () => {
  redis = await startRedis()
  loads = await startBothLoads(redis.url)
})
afterEach(async () => {
  redis?.process.kill('SIGCONT')
  await loads?.close()
  await redis?.stop()
})

it('Redis that hangs and continues: it then executes only the checks on the wire, and probes', async () => {
  // Counts every check that Redis executes, whether or not its caller still waits.
  const tally = fixedWindow({ limit: 1_000_000_000, window: '365d', name: 'tally' })
  let probes = 0
  const store = withFallback(new RedisStore(redis.url), {
    onEvent(event) {
      if (event.type === 'breaker' && event.state === 'half-open') probes++
    },
  })
  await store.peek({ policy: tally, key: 'k', cost: 1 })
  const load = startLoad({
    perSecond: 1000,
    target: () => ({ policy: 'tally', key: 'k' }),
    ask: async (_, key) => fromDecision(await store.check({ policy: tally, key, cost: 1 })),
  })
  try {
    await pause(2000)
    const stoppedMs = nowMs()
    redis.process.kill('SIGSTOP')
    await pause(STOPPED_MS)
    redis.process.kill('SIGCONT')
    const backMs = nowMs()
    await pause(4000)
    await loads.stop()
    await load.stop()

    const outage = { backMs, resetAtMs: [] }
    const figures = figuresOf(loads, outage)
    const unanswered = load.made.filter(({ degraded }) => degraded !== undefined)
    // Includes checks that timed out on a busy machine before Redis was stopped, because they were sent too.
    const onTheWire = unanswered.filter(
      ({ startMs }) => startMs < stoppedMs + ON_THE_WIRE_MS || startMs > backMs,
    ).length
    const executed = tally.limit - (await store.peek({ policy: tally, key: 'k', cost: 1 })).remaining
    const executedLate = executed - (load.made.length - unanswered.length)
    report({
      name: 'redis-stopped',
      place: 2,
      fault: 'Redis stopped with SIGSTOP for 5 s, then continued',
      promise:
        'the same; afterwards Redis executes only checks that were on the wire when it stopped, and probes',
      seen:
        `${inWords(figures)}; of ${whole(unanswered.length)} checks without a reply, Redis executed ` +
        `${executedLate} later: ${onTheWire} were on the wire, ${probes} were probes`,
      figures: { ...figures, unanswered: unanswered.length, onTheWire, probesOfTally: probes, executedLate },
    })
    expectAnswers(loads, outage)
    expect(unanswered.length).toBeGreaterThan(1000)
    expect(executedLate).toBeGreaterThanOrEqual(0)
    expect(executedLate).toBeLessThanOrEqual(onTheWire + probes)
  } finally {
    await load.stop()
    await store.close()
  }
})
