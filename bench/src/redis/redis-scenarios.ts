import { type Plan, scenarioIn } from '../report/benchmark.js'
import { ALGORITHMS, LIBRARIES, PLAIN_EVALSHA } from './redis-contenders.js'

export type RedisScenario =
  | LoadScenario
  | AloneScenario
  | FloodScenario
  | HotKeyScenario
  | LogScenario
  | MemoryScenario

/** Checks of random keys, `inFlight` at a time, by turns with the libraries. Nothing is denied. */
export interface LoadScenario extends Plan {
  measure: 'load'
  topology: 'server' | 'cluster'
  keys: number
  inFlight: number
  /** Checks per turn, and the number of turns. */
  checks: number
  turns: number
  /** These take turns with each contender. */
  comparedWith: readonly string[]
}

/** Checks of random keys, one at a time, by turns with a baseline. */
export interface AloneScenario extends Plan {
  measure: 'alone'
  keys: number
  baseline: string
  /** Checks per turn, and the number of turns. */
  checks: number
  turns: number
}

/** Checks of keys that have used up their limit. Everything is denied. */
export interface FloodScenario extends Plan {
  measure: 'flood'
  keys: number
  inFlight: number
  seconds: number
  comparedWith: readonly string[]
}

/** Checks of one key by several processes at once. Nothing is denied. */
export interface HotKeyScenario extends Plan {
  measure: 'hot-key'
  processes: number
  /** By each process. */
  inFlight: number
  seconds: number
  comparedWith: readonly string[]
}

/** Server time of checks of one full log in which every unit has its own timestamp. */
interface LogScenario extends Plan {
  measure: 'log'
  logs: Readonly<Record<string, LogOfOneKey>>
}

export interface LogOfOneKey {
  limit: number
  cost: number
  /** Units that expire before each check. */
  expiring: number
  /** Checks in a row, on each of so many copies of the full log. */
  checks: number
  copies: number
}

/** Bytes in Redis. */
interface MemoryScenario extends Plan {
  measure: 'memory'
}

const RANDOM_KEYS = {
  measure: 'load',
  keys: 10_000,
  inFlight: 256,
  checks: 10_000,
  turns: 10,
  comparedWith: LIBRARIES,
} as const

const STEADY = { limit: 100_000, cost: 1, expiring: 1, checks: 100, copies: 30 } as const

const LOGS: Readonly<Record<string, LogOfOneKey>> = {
  'limit 100, steady': { ...STEADY, limit: 100 },
  'limit 100,000, steady': STEADY,
  'limit 100, denied': { ...STEADY, limit: 100, expiring: 0 },
  'limit 100,000, denied': { ...STEADY, expiring: 0 },
  'limit 100,000, a cost of 1,000': { ...STEADY, cost: 1000, expiring: 1000 },
  'limit 100,000, 99,999 expire at once': { ...STEADY, expiring: 99_999, checks: 1, copies: 10 },
  'limit 100,000, all expire at once': { ...STEADY, expiring: 100_000, checks: 1, copies: 10 },
}

export const REDIS_SCENARIOS: Readonly<Record<string, RedisScenario>> = {
  together: {
    ...RANDOM_KEYS,
    title: '10,000 keys, 256 checks in flight, one connection',
    topology: 'server',
    contenders: [
      ...ALGORITHMS,
      'token bucket, timeout and circuit breaker',
      'token bucket, unbatched',
      ...LIBRARIES,
      PLAIN_EVALSHA,
      'redis-benchmark, token bucket',
      'redis-benchmark, plain EVALSHA',
    ],
  },
  alone: {
    measure: 'alone',
    title: '10,000 keys, one check at a time, by turns with plain EVALSHA',
    contenders: [...ALGORITHMS, 'token bucket, timeout and circuit breaker', ...LIBRARIES, PLAIN_EVALSHA],
    keys: 10_000,
    baseline: PLAIN_EVALSHA,
    checks: 50,
    turns: 100,
  },
  cluster: {
    ...RANDOM_KEYS,
    title: '10,000 keys, 256 checks in flight, a cluster of three primaries',
    topology: 'cluster',
    contenders: [...ALGORITHMS, ...LIBRARIES, PLAIN_EVALSHA],
    checks: 5000,
  },
  flood: {
    measure: 'flood',
    title: '10,000 keys that have used up their limit, 256 checks in flight',
    contenders: [
      'token bucket',
      'token bucket, no denial cache',
      ...LIBRARIES,
      'rate-limiter-flexible, blocking in memory',
    ],
    keys: 10_000,
    inFlight: 256,
    seconds: 2,
    comparedWith: LIBRARIES,
  },
  'hot-key': {
    measure: 'hot-key',
    title: 'One key, four processes with 64 checks in flight each',
    contenders: ['fixed window', 'leased fixed window'],
    processes: 4,
    inFlight: 64,
    seconds: 2,
    comparedWith: ['fixed window'],
  },
  log: {
    measure: 'log',
    title: 'One full sliding log, each unit with its own timestamp',
    contenders: Object.keys(LOGS),
    logs: LOGS,
  },
  'memory-log': {
    measure: 'memory',
    title: 'Memory per logged unit, limit 1,000, full, each unit with its own timestamp',
    contenders: ['sliding log'],
  },
  'memory-key': {
    measure: 'memory',
    title: 'Memory per key beyond its text, 100,000 keys with expiry',
    contenders: ['token bucket', 'SET PX'],
  },
}

export function redisScenarioNamed(name: string): RedisScenario {
  return scenarioIn(REDIS_SCENARIOS, name)
}
