import type { Turns } from '../load/load-by-turns.js'
import { type Plan, scenarioIn } from '../report/benchmark.js'

export type ServiceScenario = FlatOutScenario | SteadyScenario

/** As many checks as possible, each connection waiting for its response, by turns with `BARE_ROUTE`. */
export interface FlatOutScenario extends Plan, Turns {
  measure: 'flat-out'
  keys: number
  connections: number
}

/** A fixed number of checks per second, whether or not earlier checks have been answered. */
export interface SteadyScenario extends Plan {
  measure: 'steady'
  keys: number
  connections: number
  seconds: number
  perSecond: number
}

export const BARE_ROUTE = 'bare Fastify'
export const ON_MEMORY = 'service, memory'
export const ON_REDIS = 'service, Redis'

export const SERVICE_SCENARIOS = {
  throughput: {
    measure: 'flat-out',
    title: '10,000 keys, 64 connections, one core for the server, by turns with bare Fastify',
    contenders: [BARE_ROUTE, ON_MEMORY, ON_REDIS],
    keys: 10_000,
    connections: 64,
    turns: 6,
    secondsPerTurn: 2,
  },
  steady: {
    measure: 'steady',
    title: '10,000 keys, 10,000 checks every second, one core for the server',
    contenders: [BARE_ROUTE, ON_MEMORY, ON_REDIS],
    keys: 10_000,
    connections: 64,
    seconds: 10,
    perSecond: 10_000,
  },
} as const satisfies Readonly<Record<string, ServiceScenario>>

export function serviceScenarioNamed(name: string): ServiceScenario {
  return scenarioIn<ServiceScenario>(SERVICE_SCENARIOS, name)
}
