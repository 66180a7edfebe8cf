import type { Benchmark } from './benchmark.js'
import type { Figures } from './figures.js'
import { columns } from './gateway-report.js'
import {
  BARE,
  GATEWAY_SCENARIOS,
  type GatewayScenario,
  gatewayScenarioNamed,
  hasNginx,
  nginxVersion,
} from './gateway-scenarios.js'
import { startProxy, startUpstream } from './gateway-server.js'
import { assertProxies, countAt } from './gateway-set-up.js'
import { judge } from './gateway-targets.js'
import { loadByTurns } from './load-by-turns.js'
import type { ServerUnderLoad } from './server-under-load.js'
import { versionsOf } from './versions.js'
import { loadWithWrk, wrkVersion } from './wrk.js'

const WARM_UP_SECONDS = 3
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
  const scenario = gatewayScenarioNamed(name)
  const { method, bodyBytes, users, connections } = scenario
  const load = { script: 'proxy.lua', args: [method, String(bodyBytes), String(users)], connections }
  const servers: ServerUnderLoad[] = []
  const started = async (starting: Promise<ServerUnderLoad>) => {
    servers.unshift(await starting)
    return servers[0]!
  }
  try {
    const upstream = await started(startUpstream())
    // What it is measured against has an upstream of its own: each counts what has reached it.
    const otherUpstream = await started(startUpstream())
    const proxy = await started(startProxy(contender, upstream.url))
    await assertProxies(contender, proxy.url, upstream.url)
    const bare = await started(startProxy(BARE, otherUpstream.url))
    for (const one of [proxy, bare]) await loadWithWrk(one.url, load, WARM_UP_SECONDS)
    const before = await countAt(upstream.url)
    const { requests, figures } = await loadByTurns(proxy, bare, load, scenario)
    assertPassedOn(contender, requests, (await countAt(upstream.url)) - before, scenario)
    return figures
  } finally {
    await Promise.allSettled(servers.map((server) => server.stop()))
  }
}

/** What was on its way when time was up may be counted too, of the warm-up as well. */
function assertPassedOn(
  contender: string,
  answered: number,
  passed: number,
  { connections, turns }: GatewayScenario,
): void {
  if (Math.abs(passed - answered) <= (turns + 1) * connections) return
  throw new Error(`${contender} has answered ${answered} requests, and the upstream ${passed}.`)
}
