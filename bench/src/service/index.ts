import { startRedis } from '@tidegate/fixtures/redis-server'
import { LOAD_CORE, redisOnCore } from '../load/cpu-cores.js'
import { loadByTurns } from '../load/load-by-turns.js'
import { inOwnProcess } from '../load/own-process.js'
import type { ServerUnderLoad } from '../load/server-under-load.js'
import { loadWithWrk } from '../load/wrk.js'
import type { Benchmark } from '../report/benchmark.js'
import type { Figures } from '../report/figures.js'
import { redisVersion, versionsOf, wrkVersion } from '../report/versions.js'
import { columns } from './service-columns.js'
import {
  BARE_ROUTE,
  type FlatOutScenario,
  ON_REDIS,
  SERVICE_SCENARIOS,
  serviceScenarioNamed,
} from './service-scenarios.js'
import { startBare, startTidegate } from './service-server.js'
import { assertAlike, assertCounts, type Counted, countedBy, responseOf } from './service-set-up.js'

const CHILD = new URL('./steady-child.js', import.meta.url)
const WARM_UP_SECONDS = 3

/** Checks over HTTP, against a Fastify route that sends the same response without a check. */
export const service: Benchmark = {
  name: 'service',
  scenarios: SERVICE_SCENARIOS,
  measure,
  columns,
  versions: () => ({ ...versionsOf('fastify'), wrk: wrkVersion(), Redis: redisVersion() }),
}

async function measure(name: string, contender: string): Promise<Figures> {
  const scenario = serviceScenarioNamed(name)
  const redis = contender === ON_REDIS ? await startRedis(redisOnCore(LOAD_CORE)) : undefined
  try {
    const server = await (contender === BARE_ROUTE ? startBareRoute() : startTidegate(redis?.url ?? 'memory'))
    try {
      if (contender !== BARE_ROUTE) await assertCounts(server.url)
      if (scenario.measure === 'steady') return await measureSteady(name, server)
      return await measureFlatOut(scenario, server, contender)
    } finally {
      await server.stop()
    }
  } finally {
    await redis?.stop()
  }
}

/** The bare route, with a response copied from the service. */
async function startBareRoute(): Promise<ServerUnderLoad> {
  const service = await startTidegate('memory')
  const response = await responseOf(service.url).finally(service.stop)
  const baseline = await startBare(response)
  try {
    await assertAlike(response, baseline.url)
    return baseline
  } catch (error) {
    await baseline.stop()
    throw error
  }
}

async function measureSteady(name: string, server: ServerUnderLoad): Promise<Figures> {
  return inOwnProcess(CHILD, [name, server.url])
}

async function measureFlatOut(
  scenario: FlatOutScenario,
  server: ServerUnderLoad,
  contender: string,
): Promise<Figures> {
  const load = { args: ['check', String(scenario.keys)], connections: scenario.connections }
  const baseline = await startBareRoute()
  try {
    for (const one of [server, baseline]) await loadWithWrk(one.url, load, WARM_UP_SECONDS)
    const before = contender === BARE_ROUTE ? undefined : await countedBy(server.url)
    const { requests, figures } = await loadByTurns(server, baseline, load, scenario)
    const failures = before === undefined ? 0 : await failuresSince(before, server, requests, scenario)
    return failures > requests / 100 ? withoutThroughput(figures, failures) : { ...figures, failures }
  } finally {
    await baseline.stop()
  }
}

/** How many of these checks were denied or decided without the store. */
async function failuresSince(
  before: Counted,
  { url }: ServerUnderLoad,
  requests: number,
  { connections, turns }: FlatOutScenario,
): Promise<number> {
  const after = await countedBy(url)
  const counted = after.allowed + after.denied - before.allowed - before.denied
  // Requests in flight at the end of a turn or of the warm-up may be counted too.
  if (Math.abs(counted - requests) > (turns + 1) * connections) {
    throw new Error(`${requests} responses, but the service counted ${counted} checks.`)
  }
  const failures = after.denied + after.degraded - before.denied - before.degraded
  return failures
}

/** Decisions without the store are fast. The throughput of a run with more than 1 % of them is not a result. */
function withoutThroughput({ p50Us = 0, p99Us = 0 }: Figures, failures: number): Figures {
  console.error(`${failures} checks were denied or decided without the store: no throughput.`)
  return { p50Us, p99Us, failures }
}
