import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { report, whole } from './src/figures.js'
import { fiveLimitsYaml, inTurn, violationsOf } from './src/five-limits.js'
import { createHttpClient } from './src/http-client.js'
import { askService, startLoad } from './src/load.js'
import { type ServiceProcess, startService } from './src/processes/service.js'
import { nowMs } from './src/wall-clock.js'

let redis: RedisServer
let services: ServiceProcess[] = []
beforeEach(async () => {
  redis = await startRedis()
  // Long timeouts, so that a busy machine does not look like an outage.
  const yaml = `store: { url: '${redis.url}', deadline: 2s }\n${fiveLimitsYaml()}`
  services = await Promise.all([startService(yaml), startService(yaml)])
})
afterEach(async () => {
  for (const service of services) await service.stop()
  await redis?.stop()
})

it('SIGTERM of one of two instances under load: no request fails', async () => {
  const [leaving, staying] = services as [ServiceProcess, ServiceProcess]
  const http = createHttpClient()
  // Like a load balancer: round robin, without the instances whose port is closed.
  let inRotation = [leaving, staying]
  let [n, rerouted] = [0, 0]
  async function ask(policy: string, key: string) {
    const { url } = inRotation[n++ % inRotation.length]!
    try {
      return await askService(http, url, policy, key)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || url !== leaving.url) throw error
      inRotation = [staying]
      rerouted++
      return askService(http, staying.url, policy, key)
    }
  }
  const load = startLoad({ perSecond: 1000, target: inTurn('both', 1), ask })
  try {
    await pause(2500)
    const signalledMs = nowMs()
    leaving.process.kill('SIGTERM')
    const ended = await leaving.ended
    const stoppedAfterMs = nowMs() - signalledMs
    await pause(2000)
    await load.stop()
    const after = load.made.filter(({ startMs }) => startMs > signalledMs).length
    report({
      name: 'sigterm',
      place: 11,
      fault: 'SIGTERM of one of two instances under load',
      promise: 'no failed request',
      seen:
        `${whole(load.made.length)} requests, ${load.errors.length} failed; exit code ${ended.code} after ` +
        `${whole(stoppedAfterMs)} ms`,
      figures: { requests: load.made.length, failed: load.errors.length, after, rerouted, stoppedAfterMs },
    })
    expect(load.errors).toStrictEqual([])
    expect(ended).toStrictEqual({ code: 0, signal: null })
    expect(rerouted).toBeGreaterThan(0)
    expect([...new Set(load.made.map(({ status }) => status))].sort()).toStrictEqual([200, 429])
    // The load continued after the signal, at any rate.
    expect(after).toBeGreaterThan(load.made.length / 10)
    expect(violationsOf(load.made)).toStrictEqual([])
  } finally {
    await load.stop()
    http.close()
  }
})
