import type { KeyShape } from '../load/keys.js'
import { type Plan, scenarioIn } from '../report/benchmark.js'
import type { ContenderName } from './core-contenders.js'

export type Scenario = SpeedScenario | PauseScenario | MemoryScenario | LogScenario

/** Nanoseconds per check of keys in random order. The store holds all keys. */
export interface SpeedScenario extends Plan {
  measure: 'speed'
  contenders: readonly ContenderName[]
  comparedWith: readonly { scenario: string; contender: ContenderName }[]
  keys: number
  /** Async loops that share the order of keys; 0 is a plain loop without `await`. */
  callers: number
  /** The length of the order, a multiple of `keys`: every key is checked equally often. */
  checks: number
  /** Checks per timed batch, and how often the whole order is repeated. */
  batch: number
  passes: number
}

/** The longest single check while `keys` keys enter an empty store, and while as many others replace them. */
export interface PauseScenario extends Plan {
  measure: 'pauses'
  contenders: readonly ContenderName[]
  keys: number
}

/** Bytes per key beyond the text of the key. */
export interface MemoryScenario extends Plan {
  measure: 'memory'
  contenders: readonly ContenderName[]
  keys: number
  keyShape: KeyShape
}

/** Nanoseconds per check of one key with a full log. Each contender is a limit. */
export interface LogScenario extends Plan {
  measure: 'log'
  limits: Readonly<Record<string, number>>
  comparedWith: readonly { scenario: string; contender: string }[]
  /** `steady`: one unit expires per check. `denied`: no unit expires, every check is denied. */
  mode: 'steady' | 'denied'
  batch: number
  batches: number
}

const LIBRARIES = ['RateLimiterMemory', 'express MemoryStore'] as const
export const ALGORITHMS = ['token bucket', 'fixed window', 'sliding counter', 'leaky bucket'] as const

const TEN_THOUSAND_KEYS = {
  measure: 'speed',
  comparedWith: LIBRARIES.map((contender) => ({ scenario: '10k-awaited', contender })),
  keys: 10_000,
  checks: 500_000,
  // Long enough to include garbage collections, short enough to fit between the time slices of other processes.
  batch: 100_000,
  passes: 10,
} as const

const LIMITS = { 'limit 100': 100, 'limit 100,000': 100_000 }
const FULL_LOG = {
  measure: 'log',
  contenders: Object.keys(LIMITS),
  limits: LIMITS,
  batch: 500_000,
  batches: 4,
} as const

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  '10k-awaited': {
    ...TEN_THOUSAND_KEYS,
    title: '10,000 keys in random order, 256 callers that await each check',
    contenders: [...ALGORITHMS, ...LIBRARIES, 'Map'],
    callers: 256,
  },
  '10k-plain': {
    ...TEN_THOUSAND_KEYS,
    title: '10,000 keys in random order, used without await (libraries: awaited)',
    contenders: [...ALGORITHMS, 'Map'],
    callers: 0,
  },
  leased: {
    ...TEN_THOUSAND_KEYS,
    title: 'One busy key, 256 callers that await each check: leased units against the memory store',
    contenders: ['fixed window', 'leased fixed window'],
    comparedWith: [{ scenario: 'leased', contender: 'fixed window' }],
    keys: 1,
    callers: 256,
  },
  '1m-plain': {
    measure: 'speed',
    title: '1,000,000 keys in random order, used without await',
    contenders: [...ALGORITHMS, 'Map'],
    comparedWith: [{ scenario: '1m-plain', contender: 'Map' }],
    keys: 1_000_000,
    callers: 0,
    checks: 1_000_000,
    batch: 250_000,
    passes: 1,
  },
  pauses: {
    measure: 'pauses',
    title: 'Longest single check, from 0 to 1,000,000 keys and through 1,000,000 evictions',
    contenders: [...ALGORITHMS, 'Map', 'idle loop'],
    keys: 1_000_000,
  },
  'memory-short': {
    measure: 'memory',
    title: 'Memory per key beyond its text, 1,000,000 keys of 6 to 11 characters',
    contenders: ALGORITHMS,
    keys: 1_000_000,
    keyShape: 'short',
  },
  'memory-long': {
    measure: 'memory',
    title: 'Memory per key beyond its text, 1,000,000 keys of 32 characters, which the store copies',
    contenders: ['token bucket'],
    keys: 1_000_000,
    keyShape: 'long',
  },
  'log-steady': {
    ...FULL_LOG,
    title: 'One full sliding log, one unit expires per check',
    comparedWith: [{ scenario: 'log-steady', contender: 'limit 100' }],
    mode: 'steady',
  },
  'log-denied': {
    ...FULL_LOG,
    title: 'One full sliding log, every check denied',
    comparedWith: [{ scenario: 'log-denied', contender: 'limit 100' }],
    mode: 'denied',
  },
}

export function scenarioNamed(name: string): Scenario {
  return scenarioIn(SCENARIOS, name)
}
