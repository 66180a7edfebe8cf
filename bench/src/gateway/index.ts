import { loadByTurns } from '../load/load-by-turns.js'
import type { ServerUnderLoad } from '../load/server-under-load.js'
import { turnColumns } from '../load/turn-columns.js'
import { loadWithWrk } from '../load/wrk.js'
import type { Benchmark } from '../report/benchmark.js'
import type { Figures } from '../report/figures.js'
import { versionsOf, wrkVersion } from '../report/versions.js'
import {
  BARE_PROXY,
  GATEWAY_SCENARIOS,
  type GatewayScenario,
  gatewayScenarioNamed,
  hasNginx,
  nginxVersion,
} from './gateway-scenarios.js'
import { startProxy, startUpstream } from './gateway-server.js'
import { assertProxies, countAt } from './gateway-set-up.js'

const WARM_UP_SECONDS = 3
let isNginxMissing = !hasNginx()

/** Requests through the gateway, against other proxies of the same upstream. */
export const gateway: Benchmark = {
  name: 'gateway',
  scenarios: GATEWAY_SCENARIOS,
  measure,
  columns: () => turnColumns(BARE_PROXY),
  versions: () => ({
    ...versionsOf('undici', 'fastify', '@fastify/http-proxy', '@fastify/rate-limit'),
    wrk: wrkVersion(),
    nginx: nginxVersion(),
  }),
}

async function measure(name: string, contender: string): Promise<Figures> {
  if (isNginxMissing)
    console.error('nginx not found, left out; to include it on Debian: apt install nginx-light')
  isNginxMissing = false
  const scenario = gatewayScenarioNamed(name)
  const { method, bodyBytes, users, connections } = scenario
  const load = { args: ['proxy', method, String(bodyBytes), String(users)], connections }
  const servers: ServerUnderLoad[] = []
  const started = async (starting: Promise<ServerUnderLoad>) => {
    servers.unshift(await starting)
    return servers[0]!
  }
  try {
    const upstream = await started(startUpstream())
    // The baseline has its own upstream: each upstream counts its requests.
    const otherUpstream = await started(startUpstream())
    const proxy = await started(startProxy(contender, upstream.url))
    await assertProxies(contender, proxy.url, upstream.url)
    const baseline = await started(startProxy(BARE_PROXY, otherUpstream.url))
    for (const one of [proxy, baseline]) await loadWithWrk(one.url, load, WARM_UP_SECONDS)
    const before = await countAt(upstream.url)
    const { requests, figures } = await loadByTurns(proxy, baseline, load, scenario)
    assertPassedOn(contender, requests, (await countAt(upstream.url)) - before, scenario)
    return figures
  } finally {
    await Promise.allSettled(servers.map((server) => server.stop()))
  }
}

/** Requests in flight at the end of a turn or of the warm-up may be counted too. */
function assertPassedOn(
  contender: string,
  responses: number,
  passed: number,
  { connections, turns }: GatewayScenario,
): void {
  if (Math.abs(passed - responses) <= (turns + 1) * connections) return
  throw new Error(`${contender} sent ${responses} responses, and the upstream ${passed}.`)
}
