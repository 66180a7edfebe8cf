import { startRedis } from '@tidegate/fixtures/redis-server'
import type { Benchmark } from './benchmark.js'
import type { Figures } from './figures.js'
import { loadByTurns } from './load-by-turns.js'
import { LOAD_CORE, redisOnCore } from './one-core.js'
import { inOwnProcess } from './own-process.js'
import { redisVersion } from './redis-version.js'
import type { ServerUnderLoad } from './server-under-load.js'
import { columns } from './service-report.js'
import {
  BARE,
  type FlatOutScenario,
  REDIS,
  SERVICE_SCENARIOS,
  serviceScenarioNamed,
} from './service-scenarios.js'
import { startBare, startTidegate } from './service-server.js'
import { answerOf, assertAlike, assertCounts, type Counted, countedBy } from './service-set-up.js'
import { judge } from './service-targets.js'
import { versionsOf } from './versions.js'
import { loadWithWrk, wrkVersion } from './wrk.js'

const CHILD = new URL('./service-child.js', import.meta.url)
const WARM_UP_SECONDS = 3

/** Checks over HTTP, against a route of Fastify that only answers. */
export const service: Benchmark = {
  name: 'service',
  scenarios: SERVICE_SCENARIOS,
  measure,
  columns,
  judge,
  versions: () => ({ ...versionsOf('fastify'), wrk: wrkVersion(), Redis: redisVersion() }),
}

async function measure(name: string, contender: string): Promise<Figures> {
  const scenario = serviceScenarioNamed(name)
  const redis = contender === REDIS ? await startRedis(redisOnCore(LOAD_CORE)) : undefined
  try {
    const server = await (contender === BARE ? startAlike() : startTidegate(redis?.url ?? 'memory'))
    try {
      if (contender !== BARE) await assertCounts(server.url)
      if (scenario.measure === 'steady') return await measureSteady(name, server)
      return await measureFlatOut(scenario, server, contender)
    } finally {
      await server.stop()
    }
  } finally {
    await redis?.stop()
  }
}

/** The bare route, with an answer that the service has given. */
async function startAlike(): Promise<ServerUnderLoad> {
  const service = await startTidegate('memory')
  const answer = await answerOf(service.url).finally(service.stop)
  const bare = await startBare(answer)
  try {
    await assertAlike(answer, bare.url)
    return bare
  } catch (error) {
    await bare.stop()
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
  const load = { script: 'check.lua', args: [String(scenario.keys)], connections: scenario.connections }
  const bare = await startAlike()
  try {
    for (const one of [server, bare]) await loadWithWrk(one.url, load, WARM_UP_SECONDS)
    const before = contender === BARE ? undefined : await countedBy(server.url)
    const { requests, figures } = await loadByTurns(server, bare, load, scenario)
    const failures = before === undefined ? 0 : await failuresSince(before, server, requests, scenario)
    return { ...figures, failures }
  } finally {
    await bare.stop()
  }
}

/** How many of these checks were refused or answered without the store. */
async function failuresSince(
  before: Counted,
  { url }: ServerUnderLoad,
  requests: number,
  { connections, turns }: FlatOutScenario,
): Promise<number> {
  const after = await countedBy(url)
  const counted = after.allowed + after.refused - before.allowed - before.refused
  // What was on its way when time was up may be counted too, of the warm-up as well.
  if (Math.abs(counted - requests) > (turns + 1) * connections) {
    throw new Error(`${requests} checks were answered, and the service counted ${counted}.`)
  }
  const failures = after.refused + after.degraded - before.refused - before.degraded
  if (failures > requests / 100) {
    throw new Error(`${failures} of ${requests} checks were refused or answered without the store.`)
  }
  return failures
}
