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

/** How many connections at once, how many requests in a turn, and how many turns. */
export const LOAD = { connections: 20, requests: 3000, warmUpRequests: 10_000, turns: 15 } as const

export const HTTP_SCENARIOS: Readonly<Record<string, HttpScenario>> = {
  express: {
    title: 'Express, counting in memory',
    rounds: 3,
    bare: 'Express',
    needsRedis: false,
    contenders: [
      'Express + ours',
      'Express + express-rate-limit',
      'Express + express-rate-limit, our headers',
    ],
  },
  fastify: {
    title: 'Fastify, counting in memory',
    rounds: 3,
    bare: 'Fastify',
    needsRedis: false,
    contenders: ['Fastify + ours', 'Fastify + @fastify/rate-limit'],
  },
  redis: {
    title: 'Express, counting in Redis',
    rounds: 3,
    bare: 'Express',
    needsRedis: true,
    contenders: ['Express + ours on Redis', 'Express + rate-limit-redis'],
  },
}

export function httpScenarioNamed(name: string): HttpScenario {
  const scenario = HTTP_SCENARIOS[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
