import { type FailureEvent, withFallback } from '@tidegate/core'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { fiveLimits, fiveLimitsYaml, inTurn } from './five-limits.js'
import { createHttpClient } from './http-client.js'
import { askService, fromDecision, type Load, type Made, startLoad } from './load.js'
import { startService } from './service.js'
import { nowMs } from './wall-clock.js'

/** The library in this process and a service in another, both on one Redis, both under load on five limits. */
export interface BothLoads {
  readonly library: Load
  readonly service: Load
  /** What happened to the store of the library. */
  readonly events: readonly FailureEvent[]
  /** Everything but the warm-up, whose time says nothing. */
  judged(): Made[]
  stop(): Promise<void>
  /** Also ends the service. */
  close(): Promise<void>
}

export async function startBothLoads(redisUrl: string): Promise<BothLoads> {
  // Every check is asked of Redis: remembered refusals would spare it most of this load.
  const service = await startService(
    `store: { url: '${redisUrl}', rememberRefusals: 0s }\n${fiveLimitsYaml()}`,
  )
  const events: FailureEvent[] = []
  const store = withFallback(new RedisStore(redisUrl, { rememberRefusalsMs: 0 }), {
    onEvent: (event) => events.push(event),
  })
  const limits = fiveLimits()
  const http = createHttpClient()
  // Connected before: a cold start is not an outage, and has a deadline of its own.
  await store.peek({ policy: limits.get('fixed')!, key: 'first', cost: 1 })
  await askService(http, service.url, 'fixed', 'first')
  const loads = {
    library: startLoad({
      perSecond: 2500,
      target: inTurn('library', 4),
      ask: async (policy, key) =>
        fromDecision(await store.check({ policy: limits.get(policy)!, key, cost: 1 })),
    }),
    service: startLoad({
      perSecond: 600,
      target: inTurn('service', 1),
      ask: (policy, key) => askService(http, service.url, policy, key),
      pid: service.process.pid,
    }),
  }
  await pause(WARM_UP_MS)
  const warmMs = nowMs()

  async function stop(): Promise<void> {
    await Promise.all([loads.library.stop(), loads.service.stop()])
  }
  return {
    ...loads,
    events,
    judged: () => [...loads.library.made, ...loads.service.made].filter(({ startMs }) => startMs > warmMs),
    stop,
    async close() {
      await stop()
      http.close()
      await store.close()
      await service.stop()
    },
  }
}

const WARM_UP_MS = 2000
