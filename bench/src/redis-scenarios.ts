import type { Plan } from './benchmark.js'
import { OURS, PEERS } from './redis-contenders.js'

/*
 * The one table of what is measured on Redis. A scenario is measured for each of its contenders, every time
 * with servers and a process of its own; what it should come to is in `redis-targets.ts`.
 */

export type RedisScenario = LoadScenario | AloneScenario | FloodScenario | LogScenario | MemoryScenario

/** Checks of random keys, so many at a time. Nothing is refused. */
export interface LoadScenario extends Plan {
  measure: 'load'
  topology: 'server' | 'cluster'
  keys: number
  inFlight: number
  checks: number
  comparedWith: readonly string[]
}

/** Checks of random keys, one at a time, by turns with those of a yardstick. */
export interface AloneScenario extends Plan {
  measure: 'alone'
  keys: number
  yardstick: string
  /** How many checks in each turn, and how many turns. */
  checks: number
  turns: number
}

/** Checks of random keys that have nothing left, for so long. Everything is refused. */
export interface FloodScenario extends Plan {
  measure: 'flood'
  keys: number
  inFlight: number
  seconds: number
  comparedWith: readonly string[]
}

/** What checks of one full log cost the server, the units being of as many moments. */
interface LogScenario extends Plan {
  measure: 'log'
  logs: Readonly<Record<string, LogOfOneKey>>
}

export interface LogOfOneKey {
  limit: number
  /** The cost of each check, and how many units leave before it. */
  cost: number
  leaving: number
  /** How many checks one after another, and of how many copies of the full log. */
  checks: number
  copies: number
}

/** Bytes in Redis. */
interface MemoryScenario extends Plan {
  measure: 'memory'
}

const PLAIN = 'plain EVALSHA'

const RANDOM_KEYS = { measure: 'load', keys: 10_000, inFlight: 256, checks: 100_000 } as const

const STEADY = { limit: 100_000, cost: 1, leaving: 1, checks: 100, copies: 30 } as const

const LOGS: Readonly<Record<string, LogOfOneKey>> = {
  'limit 100, steady': { ...STEADY, limit: 100 },
  'limit 100,000, steady': STEADY,
  'limit 100, refused': { ...STEADY, limit: 100, leaving: 0 },
  'limit 100,000, refused': { ...STEADY, leaving: 0 },
  'limit 100,000, a cost of 1,000': { ...STEADY, cost: 1000, leaving: 1000 },
  'limit 100,000, 99,999 leave at once': { ...STEADY, leaving: 99_999, checks: 1, copies: 10 },
  'limit 100,000, all leave at once': { ...STEADY, leaving: 100_000, checks: 1, copies: 10 },
}

export const REDIS_SCENARIOS: Readonly<Record<string, RedisScenario>> = {
  together: {
    ...RANDOM_KEYS,
    title: '10,000 keys, 256 checks in flight, one connection',
    topology: 'server',
    rounds: 7,
    contenders: [
      ...OURS,
      'token bucket, deadline and breaker',
      'token bucket, unbatched',
      ...PEERS,
      PLAIN,
      'redis-benchmark, token bucket',
      'redis-benchmark, plain EVALSHA',
    ],
    comparedWith: PEERS,
  },
  alone: {
    measure: 'alone',
    title: '10,000 keys, one check at a time, by turns with plain EVALSHA',
    rounds: 3,
    contenders: [...OURS, 'token bucket, deadline and breaker', ...PEERS, PLAIN],
    keys: 10_000,
    yardstick: PLAIN,
    checks: 50,
    turns: 100,
  },
  cluster: {
    ...RANDOM_KEYS,
    title: '10,000 keys, 256 checks in flight, a cluster of three primaries',
    topology: 'cluster',
    rounds: 2,
    contenders: [...OURS, ...PEERS, PLAIN],
    checks: 50_000,
    comparedWith: PEERS,
  },
  flood: {
    measure: 'flood',
    title: '10,000 keys that have nothing left, 256 checks in flight',
    rounds: 3,
    contenders: [
      'token bucket',
      'token bucket, asking every time',
      ...PEERS,
      'rate-limiter-flexible, blocking in memory',
    ],
    keys: 10_000,
    inFlight: 256,
    seconds: 2,
    comparedWith: PEERS,
  },
  log: {
    measure: 'log',
    title: 'One full sliding log, its units of as many moments',
    rounds: 2,
    contenders: Object.keys(LOGS),
    logs: LOGS,
  },
  'memory-log': {
    measure: 'memory',
    title: 'Memory per logged unit, limit 1,000, full, each unit of its own moment',
    rounds: 1,
    contenders: ['sliding log'],
  },
  'memory-key': {
    measure: 'memory',
    title: "Memory per key beyond the key's text, 100,000 keys with expiry",
    rounds: 1,
    contenders: ['token bucket', 'bare SET PX'],
  },
}

export function redisScenarioNamed(name: string): RedisScenario {
  const scenario = REDIS_SCENARIOS[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
