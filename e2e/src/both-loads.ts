import { type FailureEvent, withFallback } from '@tidegate/core'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { fiveLimits, fiveLimitsYaml, inTurn } from './five-limits.js'
import { createHttpClient } from './http-client.js'
import { askService, fromDecision, type Load, type Made, startLoad } from './load.js'
import { startService } from './processes/service.js'
import { nowMs } from './wall-clock.js'

/** The library in this process and a service in another, both on one Redis, both under load with five limits. */
export interface BothLoads {
  readonly library: Load
  readonly service: Load
  /** The events of the library's store. */
  readonly events: readonly FailureEvent[]
  /** The checks after the warm-up. */
  checksAfterWarmUp(): Made[]
  stop(): Promise<void>
  /** Also ends the service. */
  close(): Promise<void>
}

export async function startBothLoads(redisUrl: string): Promise<BothLoads> {
  // Without the denial cache, which would keep most of this load away from Redis.
  const service = await startService(`store: { url: '${redisUrl}', denialCache: 0s }\n${fiveLimitsYaml()}`)
  const events: FailureEvent[] = []
  const store = withFallback(new RedisStore(redisUrl, { denialCacheMs: 0 }), {
    onEvent: (event) => events.push(event),
  })
  const limits = fiveLimits()
  const http = createHttpClient()
  // Connect first: a cold start is not an outage, and has its own deadline.
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
    checksAfterWarmUp: () =>
      [...loads.library.made, ...loads.service.made].filter(({ startMs }) => startMs > warmMs),
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
