import { startRedis } from '@tidegate/fixtures/redis-server'
import { inOwnProcess } from '../load/own-process.js'
import type { Benchmark } from '../report/benchmark.js'
import type { Figures } from '../report/figures.js'
import { redisVersion, versionsOf } from '../report/versions.js'
import { startCluster } from './cluster.js'
import { columns } from './redis-columns.js'
import { REDIS_SCENARIOS, redisScenarioNamed } from './redis-scenarios.js'

const CHILD = new URL('./redis-child.js', import.meta.url)

/** The Redis store, against other libraries, a plain script and redis-benchmark. */
export const redis: Benchmark = {
  name: 'redis',
  scenarios: REDIS_SCENARIOS,
  measure,
  columns,
  versions: () => ({
    Redis: redisVersion(),
    ...versionsOf('ioredis', 'rate-limiter-flexible', 'rate-limit-redis'),
  }),
}

/** Starts new servers for each contender, so that all of them find empty ones. */
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
