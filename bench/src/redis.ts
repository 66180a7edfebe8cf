import { startRedis } from '@tidegate/fixtures/redis-server'
import type { Benchmark } from './benchmark.js'
import type { Figures } from './figures.js'
import { inOwnProcess } from './own-process.js'
import { startCluster } from './redis-cluster.js'
import { columns } from './redis-report.js'
import { REDIS_SCENARIOS, redisScenarioNamed } from './redis-scenarios.js'
import { judge } from './redis-targets.js'
import { redisVersion } from './redis-version.js'
import { versionsOf } from './versions.js'

const CHILD = new URL('./redis-child.js', import.meta.url)

/** The store in Redis, against its peers, a plain script and Redis's own load generator. */
export const redis: Benchmark = {
  name: 'redis',
  scenarios: REDIS_SCENARIOS,
  measure,
  columns: (scenario, all) => columns(scenario, all),
  judge,
  versions: () => ({
    Redis: redisVersion(),
    ...versionsOf('ioredis', 'rate-limiter-flexible', 'rate-limit-redis'),
  }),
}

/** Servers for each: nobody pays for what the one before has left. */
async function measure(name: string, contender: string): Promise<Figures> {
  const scenario = redisScenarioNamed(name)
  const isCluster = scenario.measure === 'load' && scenario.topology === 'cluster'
  const servers = await (isCluster ? startCluster() : startRedis())
  try {
    return await inOwnProcess(CHILD, [name, contender, servers.url])
  } finally {
    await servers.stop()
  }
}
