import type { Plan } from './benchmark.js'

/*
 * The one table of what is measured over HTTP. A contender takes its turns with the bare framework in the same
 * process; what it should come to is in `http-targets.ts`.
 */

export interface HttpScenario extends Plan {
  /** The framework without a limiter. */
  bare: string
  needsRedis: boolean
}

/**
 * Many short turns: what else the machine does hits a turn, and the median leaves it out. Several requests
 * travel in one packet, so that less of the time is the system's.
 */
export const LOAD = {
  connections: 10,
  pipelining: 10,
  requests: 500,
  warmUpRequests: 20_000,
  turns: 100,
} as const

export const HTTP_SCENARIOS: Readonly<Record<string, HttpScenario>> = {
  express: {
    title: 'Express, counting in memory',
    rounds: 3,
    bare: 'Express',
    needsRedis: false,
    contenders: [
      'Express + ours, legacy headers',
      'Express + express-rate-limit',
      'Express + ours',
      'Express + express-rate-limit, headers as ours',
    ],
  },
  fastify: {
    title: 'Fastify, counting in memory',
    rounds: 3,
    bare: 'Fastify',
    needsRedis: false,
    contenders: ['Fastify + ours, legacy headers', 'Fastify + @fastify/rate-limit', 'Fastify + ours'],
  },
  redis: {
    title: 'Express, counting in Redis',
    rounds: 3,
    bare: 'Express',
    needsRedis: true,
    contenders: [
      'Express + ours on Redis, legacy headers',
      'Express + rate-limit-redis',
      'Express + ours on Redis',
    ],
  },
}

export function httpScenarioNamed(name: string): HttpScenario {
  const scenario = HTTP_SCENARIOS[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
