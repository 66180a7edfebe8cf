import { startRedis } from '@tidegate/fixtures/redis-server'
import type { Benchmark } from './benchmark.js'
import type { Figures } from './figures.js'
import { HTTP_SCENARIOS, httpScenarioNamed } from './http-scenarios.js'
import { judge } from './http-targets.js'
import { LOAD_CORE, redisOnCore } from './one-core.js'
import { inOwnProcess } from './own-process.js'
import { redisVersion } from './redis-version.js'
import { digits } from './table.js'
import { versionsOf } from './versions.js'

const CHILD = new URL('./http-child.js', import.meta.url)

/** The middleware, against that of others in the same framework. */
export const http: Benchmark = {
  name: 'http',
  scenarios: HTTP_SCENARIOS,
  measure,
  columns: () => ({
    headings: ['added, µs', 'CPU per request, µs', 'bare framework, µs', 'requests/s'],
    row: ({ figures: { addedUs, cpuUs, bareUs, perSecond } }) => [
      digits(addedUs, 2),
      digits(cpuUs, 1),
      digits(bareUs, 1),
      digits(perSecond, 0),
    ],
  }),
  judge,
  versions: () => ({
    Redis: redisVersion(),
    ...versionsOf('express', 'express-rate-limit', 'fastify', '@fastify/rate-limit', 'rate-limit-redis'),
  }),
}

async function measure(scenario: string, contender: string): Promise<Figures> {
  if (!httpScenarioNamed(scenario).needsRedis) return inOwnProcess(CHILD, [scenario, contender])
  const redis = await startRedis(redisOnCore(LOAD_CORE))
  try {
    return await inOwnProcess(CHILD, [scenario, contender, redis.url])
  } finally {
    await redis.stop()
  }
}
