import type { Benchmark } from './benchmark.js'
import type { Figures } from './figures.js'
import { columns } from './gateway-report.js'
import { GATEWAY_SCENARIOS, gatewayScenarioNamed, hasNginx, nginxVersion } from './gateway-scenarios.js'
import { startProxy, startUpstream } from './gateway-server.js'
import { assertProxies, countAt } from './gateway-set-up.js'
import { judge } from './gateway-targets.js'
import { versionsOf } from './versions.js'
import { loadWithWrk, wrkVersion } from './wrk.js'

const WARM_UP_SECONDS = 2
let isNginxMissed = !hasNginx()

/** Requests through the gateway, against other proxies before the same upstream. */
export const gateway: Benchmark = {
  name: 'gateway',
  scenarios: GATEWAY_SCENARIOS,
  measure,
  columns,
  judge,
  versions: () => ({
    ...versionsOf('undici', 'fastify', '@fastify/http-proxy', '@fastify/rate-limit'),
    wrk: wrkVersion(),
    nginx: nginxVersion(),
  }),
}

async function measure(name: string, contender: string): Promise<Figures> {
  if (isNginxMissed) console.error('nginx is not there and left out; on Debian: apt install nginx-light')
  isNginxMissed = false
  const { method, bodyBytes, users, connections, seconds } = gatewayScenarioNamed(name)
  const load = { script: 'proxy.lua', args: [method, String(bodyBytes), String(users)], connections }
  const upstream = await startUpstream()
  try {
    const proxy = await startProxy(contender, upstream.url)
    try {
      await assertProxies(contender, proxy.url, upstream.url)
      await loadWithWrk(proxy.url, load, WARM_UP_SECONDS)
      const before = { count: await countAt(upstream.url), cpuUs: proxy.cpuUs() }
      const loaded = await loadWithWrk(proxy.url, load, seconds)
      const after = { count: await countAt(upstream.url), cpuUs: proxy.cpuUs() }
      assertPassedOn(contender, loaded.requests, after.count - before.count, connections)
      const { requests, p50Us, p99Us } = loaded
      const figures = { perSecond: requests / loaded.seconds, p50Us, p99Us }
      if (before.cpuUs === undefined || after.cpuUs === undefined) return figures
      return { ...figures, cpuUs: (after.cpuUs - before.cpuUs) / requests }
    } finally {
      await proxy.stop()
    }
  } finally {
    await upstream.stop()
  }
}

/** What was on its way when time was up may be counted too, of the warm-up as well. */
function assertPassedOn(contender: string, answered: number, passed: number, connections: number): void {
  if (Math.abs(passed - answered) <= 2 * connections) return
  throw new Error(`${contender} has answered ${answered} requests, and the upstream ${passed}.`)
}
