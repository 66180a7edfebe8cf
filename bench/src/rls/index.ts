import { startRedis } from '@tidegate/fixtures/redis-server'
import { LOAD_CORE, redisOnCore } from '../load/cpu-cores.js'
import { inOwnProcess } from '../load/own-process.js'
import type { Benchmark } from '../report/benchmark.js'
import type { Figures } from '../report/figures.js'
import { redisVersion } from '../report/versions.js'
import { columns } from './rls-columns.js'
import { ON_MEMORY, REFERENCE, REFERENCE_PROGRAM, RLS_SCENARIOS } from './rls-scenarios.js'
import { type RlsServer, startReference, startTidegate } from './rls-server.js'
import { assertAnswers } from './rls-set-up.js'

const CHILD = new URL('./rls-child.js', import.meta.url)
const WARM_UP_SECONDS = 3

/** Envoy's rate limit service, against envoyproxy/ratelimit if TIDEGATE_RLS_REFERENCE names its program. */
export const rls: Benchmark = {
  name: 'rls',
  scenarios: RLS_SCENARIOS,
  measure,
  columns,
  versions: () => ({ Redis: redisVersion() }),
}

async function measure(name: string, contender: string): Promise<Figures> {
  const redis = contender === ON_MEMORY ? undefined : await startRedis(redisOnCore(LOAD_CORE))
  try {
    const server = await start(contender, redis?.url ?? 'memory')
    try {
      await assertAnswers(server.address)
      return await load(name, server)
    } finally {
      await server.stop()
    }
  } finally {
    await redis?.stop()
  }
}

function start(contender: string, store: string): Promise<RlsServer> {
  return contender === REFERENCE ? startReference(REFERENCE_PROGRAM!, store) : startTidegate(store)
}

async function load(name: string, server: RlsServer): Promise<Figures> {
  const { seconds } = RLS_SCENARIOS[name]!
  await inOwnProcess(CHILD, [name, server.address, String(WARM_UP_SECONDS)])
  const before = server.cpuUs() ?? Number.NaN
  const figures = await inOwnProcess(CHILD, [name, server.address, String(seconds)])
  const cpuUs = ((server.cpuUs() ?? Number.NaN) - before) / figures.allowed!
  return { ...figures, ...(Number.isNaN(cpuUs) ? {} : { cpuUs }) }
}
