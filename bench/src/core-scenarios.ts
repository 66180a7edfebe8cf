import type { Plan } from './benchmark.js'
import type { ContenderName } from './core-contenders.js'

/*
 * The one table of what is measured. A scenario is measured for each of its contenders, every time in a
 * process of its own; what it should come to is in `core-targets.ts`.
 */

export type Scenario = SpeedScenario | PauseScenario | MemoryScenario | LogScenario

/** Nanoseconds per check over keys in random order, the store holding all of them. */
export interface SpeedScenario extends Plan {
  measure: 'speed'
  contenders: readonly ContenderName[]
  /** Against whom, and in which scenario they were measured: peers with promises have only one. */
  comparedWith: readonly { scenario: string; contender: ContenderName }[]
  keys: number
  /** Async loops that share the order; 0 is a plain loop without await. */
  callers: number
  /** The length of the order, a multiple of `keys`: every key comes equally often. */
  checks: number
  /** Checks per timed batch, and how often the whole order is gone through. */
  batch: number
  passes: number
  /** Whether answers go somewhere. One that does not is one that the engine need not make, which some can make use of. */
  keepsAnswers?: boolean
}

/** The longest single check while `keys` come into an empty store, and while as many others follow them. */
export interface PauseScenario extends Plan {
  measure: 'pauses'
  contenders: readonly ContenderName[]
  keys: number
}

/** Bytes per key beyond the key's own text. */
export interface MemoryScenario extends Plan {
  measure: 'memory'
  contenders: readonly ContenderName[]
  keys: number
  keyShape: KeyShape
}

/** Nanoseconds per check of one key's full log, the limit being the contender. */
export interface LogScenario extends Plan {
  measure: 'log'
  contenders: readonly string[]
  limits: Readonly<Record<string, number>>
  comparedWith: readonly { scenario: string; contender: string }[]
  /** `steady`: a unit leaves as another comes. `refused`: nothing leaves, all is refused. */
  mode: 'steady' | 'refused'
  batch: number
  batches: number
}

/** `short`: 6 to 12 characters, such as `user:123456`. `long`: 32. */
export type KeyShape = 'short' | 'long'

const PEERS = ['RateLimiterMemory', 'express MemoryStore'] as const
export const FAST_ALGORITHMS = ['token bucket', 'fixed window', 'sliding counter'] as const
export const ALGORITHMS = [...FAST_ALGORITHMS, 'leaky bucket'] as const

const TEN_THOUSAND_KEYS = {
  measure: 'speed',
  rounds: 7,
  comparedWith: PEERS.map((contender) => ({ scenario: '10k-awaited', contender })),
  keys: 10_000,
  checks: 500_000,
  // Long enough for the garbage collector to have its turn, short enough to fall between the turns of others on the machine.
  batch: 100_000,
  passes: 10,
} as const

const LIMITS = { 'limit 100': 100, 'limit 100,000': 100_000 }
const FULL_LOG = {
  measure: 'log',
  rounds: 3,
  contenders: Object.keys(LIMITS),
  limits: LIMITS,
  batch: 500_000,
  batches: 4,
} as const

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  '10k-awaited': {
    ...TEN_THOUSAND_KEYS,
    title: '10,000 keys in random order, 256 callers that await each check',
    contenders: [...FAST_ALGORITHMS, ...PEERS, 'bare Map'],
    callers: 256,
  },
  '10k-plain': {
    ...TEN_THOUSAND_KEYS,
    title: '10,000 keys in random order, plain values (peers: awaited, they have nothing else)',
    contenders: [...FAST_ALGORITHMS, 'bare Map'],
    callers: 0,
  },
  '10k-kept': {
    ...TEN_THOUSAND_KEYS,
    title: '10,000 keys in random order, plain values that are kept (peers: awaited)',
    contenders: [...FAST_ALGORITHMS, 'bare Map'],
    callers: 0,
    keepsAnswers: true,
  },
  '1m-plain': {
    measure: 'speed',
    rounds: 3,
    title: '1,000,000 keys in random order, plain values',
    contenders: [...FAST_ALGORITHMS, 'bare Map'],
    comparedWith: [{ scenario: '1m-plain', contender: 'bare Map' }],
    keys: 1_000_000,
    callers: 0,
    checks: 1_000_000,
    batch: 250_000,
    passes: 1,
    keepsAnswers: true,
  },
  pauses: {
    measure: 'pauses',
    // The algorithms share one store: each of them is one more round of it.
    rounds: 1,
    title: 'The longest single check, from 0 to 1,000,000 keys and through 1,000,000 evictions',
    contenders: [...ALGORITHMS, 'bare Map', 'nothing'],
    keys: 1_000_000,
  },
  'memory-short': {
    measure: 'memory',
    rounds: 1,
    title: 'Memory per key beyond its text, 1,000,000 keys of 6 to 11 characters',
    contenders: ALGORITHMS,
    keys: 1_000_000,
    keyShape: 'short',
  },
  'memory-long': {
    measure: 'memory',
    rounds: 1,
    title: 'Memory per key beyond its text, 1,000,000 keys of 32 characters, which are copied',
    contenders: ['token bucket'],
    keys: 1_000_000,
    keyShape: 'long',
  },
  'log-steady': {
    ...FULL_LOG,
    title: 'One full sliding log, one unit leaves per check',
    comparedWith: [{ scenario: 'log-steady', contender: 'limit 100' }],
    mode: 'steady',
  },
  'log-refused': {
    ...FULL_LOG,
    title: 'One full sliding log, every check refused',
    comparedWith: [{ scenario: 'log-refused', contender: 'limit 100' }],
    mode: 'refused',
  },
}

export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}
