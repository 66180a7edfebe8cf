import { type Plan, scenarioIn } from '../report/benchmark.js'

export interface HttpScenario extends Plan {
  /** The framework without a limiter. */
  bare: string
  needsRedis: boolean
}

/** Many short turns, so that the median excludes noise. Pipelining reduces the time spent in the system. */
export const LOAD = {
  connections: 10,
  pipelining: 10,
  requests: 500,
  warmUpRequests: 10_000,
  turns: 40,
} as const

export const HTTP_SCENARIOS: Readonly<Record<string, HttpScenario>> = {
  express: {
    title: 'Express, counting in memory',
    bare: 'Express',
    needsRedis: false,
    contenders: [
      'Express + Tidegate, legacy headers',
      'Express + express-rate-limit',
      'Express + Tidegate',
      'Express + express-rate-limit, headers as Tidegate',
    ],
  },
  fastify: {
    title: 'Fastify, counting in memory',
    bare: 'Fastify',
    needsRedis: false,
    contenders: ['Fastify + Tidegate, legacy headers', 'Fastify + @fastify/rate-limit', 'Fastify + Tidegate'],
  },
  redis: {
    title: 'Express, counting in Redis',
    bare: 'Express',
    needsRedis: true,
    contenders: [
      'Express + Tidegate on Redis, legacy headers',
      'Express + rate-limit-redis',
      'Express + Tidegate on Redis',
    ],
  },
}

export function httpScenarioNamed(name: string): HttpScenario {
  return scenarioIn(HTTP_SCENARIOS, name)
}
