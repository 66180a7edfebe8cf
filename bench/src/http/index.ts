import { startRedis } from '@tidegate/fixtures/redis-server'
import { LOAD_CORE, redisOnCore } from '../load/cpu-cores.js'
import { inOwnProcess } from '../load/own-process.js'
import type { Benchmark } from '../report/benchmark.js'
import type { Figures } from '../report/figures.js'
import { digits } from '../report/table.js'
import { redisVersion, versionsOf } from '../report/versions.js'
import { HTTP_SCENARIOS, httpScenarioNamed } from './http-scenarios.js'

const CHILD = new URL('./http-child.js', import.meta.url)

/** The middleware, against other middleware of the same framework. */
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
