import type { Plan } from './benchmark.js'
import type { Turns } from './load-by-turns.js'

/*
 * The one table of what is measured of the service. Each contender is a server in a process of its own, on one core; what
 * it should come to is in `service-targets.ts`.
 */

export type ServiceScenario = FlatOutScenario | SteadyScenario

/** As many checks as so many connections can make, each waiting for its answer before it asks again, by turns with `BARE`. */
export interface FlatOutScenario extends Plan, Turns {
  measure: 'flat-out'
  keys: number
  connections: number
}

/** So many checks a second, whether or not those before have been answered. */
export interface SteadyScenario extends Plan {
  measure: 'steady'
  keys: number
  connections: number
  seconds: number
  perSecond: number
}

export const BARE = 'bare Fastify'
export const MEMORY = 'service, memory'
export const REDIS = 'service, Redis'

export const SERVICE_SCENARIOS = {
  throughput: {
    measure: 'flat-out',
    title: '10,000 keys, 64 connections, one core for the server, by turns with bare Fastify',
    rounds: 3,
    contenders: [BARE, MEMORY, REDIS],
    keys: 10_000,
    connections: 64,
    turns: 6,
    secondsPerTurn: 2,
  },
  steady: {
    measure: 'steady',
    title: '10,000 keys, 10,000 checks every second, one core for the server',
    rounds: 3,
    contenders: [BARE, MEMORY, REDIS],
    keys: 10_000,
    connections: 64,
    seconds: 10,
    perSecond: 10_000,
  },
} as const satisfies Readonly<Record<string, ServiceScenario>>

export function serviceScenarioNamed(name: string): ServiceScenario {
  const scenario = (SERVICE_SCENARIOS as Readonly<Record<string, ServiceScenario>>)[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
