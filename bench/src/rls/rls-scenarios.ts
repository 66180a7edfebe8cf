import type { Plan } from '../report/benchmark.js'

export const ON_MEMORY = 'Tidegate, memory'
export const ON_REDIS = 'Tidegate, Redis'
export const REFERENCE = 'reference, Redis'

/** The program of envoyproxy/ratelimit, if it is to be measured too. */
export const REFERENCE_PROGRAM = process.env.TIDEGATE_RLS_REFERENCE || undefined

export interface RlsScenario extends Plan {
  users: number
  connections: number
  inFlight: number
  seconds: number
}

const contenders = [ON_MEMORY, ON_REDIS, ...(REFERENCE_PROGRAM === undefined ? [] : [REFERENCE])]

export const RLS_SCENARIOS: Readonly<Record<string, RlsScenario>> = {
  throughput: {
    title: 'One descriptor, 10,000 values, 64 requests in flight, one core for the server',
    contenders,
    users: 10_000,
    connections: 4,
    inFlight: 64,
    seconds: 6,
  },
}
