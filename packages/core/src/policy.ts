import { isCompatibleVersion } from './copies.js'
import { show, TidegateError } from './errors.js'
import { type Duration, MAX_DURATION_MS, parseDuration } from './units/duration.js'
import { fits, nearestFittingRate, parseRate, type Rate } from './units/rate.js'
import { VERSION } from './version.js'

/*
 * A policy is an algorithm and its numbers, with a name: a frozen plain object that JSON can carry.
 * What an algorithm derives from the numbers (microseconds, the exact rate) is worked out once, here, and
 * kept in properties that JSON does not see. `definePolicy` is the only place that validates.
 */

export interface FixedWindowPolicy extends WindowPolicy {
  readonly algorithm: 'fixed-window'
}
export interface SlidingWindowLogPolicy extends WindowPolicy {
  readonly algorithm: 'sliding-window-log'
}
export interface SlidingWindowCounterPolicy extends WindowPolicy {
  readonly algorithm: 'sliding-window-counter'
}
export interface TokenBucketPolicy extends BucketPolicy {
  readonly algorithm: 'token-bucket'
  readonly refillRate: Rate
}
export interface LeakyBucketPolicy extends BucketPolicy {
  readonly algorithm: 'leaky-bucket'
  readonly leakRate: Rate
}

export type Policy =
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | SlidingWindowCounterPolicy
  | TokenBucketPolicy
  | LeakyBucketPolicy

export type AlgorithmName = Policy['algorithm']

/** What a limiter answers when its store cannot: let through, refuse, or count in this process. */
export type OnStoreFailure = 'open' | 'closed' | 'local'

interface CommonPolicy {
  readonly name: string
  /** Derived: false if the name is the generated one, which is made of the algorithm and the numbers. */
  readonly isNamed: boolean
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number
}

interface WindowPolicy extends CommonPolicy {
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  /** Derived: the window in microseconds. */
  readonly windowUs: number
}

interface BucketPolicy extends CommonPolicy {
  readonly capacity: number
  /** Derived: the capacity, under the name that every policy has. */
  readonly limit: number
  /** Derived: the rate is `n` units per `d` microseconds, reduced; a level counts one unit as `d`. */
  readonly n: number
  readonly d: number
  /** Derived: the level of a full bucket, `capacity × d`. */
  readonly full: number
  /** Derived: the whole microseconds in which a bucket fills or drains. */
  readonly spanUs: number
}

interface CommonOptions {
  /** The name under which the store keeps the counts. Default: one made of the algorithm and the numbers. */
  name?: string
  /** What to answer when the store cannot: `'open'`, `'closed'` or `'local'`. Default: `'open'`. */
  onStoreFailure?: OnStoreFailure
  /** How many processes share the limit; with `'local'` each counts its part of it. Default: 1. */
  instances?: number
}

export interface WindowOptions extends CommonOptions {
  /** Units per window, 1 to 1,000,000,000 (a log: to 100,000). Required. */
  limit: number
  /** 1 ms to 366 d: milliseconds, or `'30s'`, `'1m'`, `'2h'`, `'1d'`. Required. */
  window: Duration
}

export interface TokenBucketOptions extends CommonOptions {
  /** The most tokens there can be, 1 to 1,000,000,000: the largest burst. Required. */
  capacity: number
  /** Tokens per second, or `'100/1m'`. Required. */
  refillRate: Rate
}

export interface LeakyBucketOptions extends CommonOptions {
  /** The most units that fit, 1 to 1,000,000,000: the longest queue. Required. */
  capacity: number
  /** Units per second, or `'100/1m'`. Required. */
  leakRate: Rate
}

/** At most `limit` units in each window, the windows aligned to the epoch. */
export function fixedWindow(options: WindowOptions): FixedWindowPolicy {
  return define('fixed-window', options)
}

/** At most `limit` units in any window, exactly; remembers the time of each unit. */
export function slidingWindowLog(options: WindowOptions): SlidingWindowLogPolicy {
  return define('sliding-window-log', options)
}

/** About `limit` units in any window, from two counts. */
export function slidingWindowCounter(options: WindowOptions): SlidingWindowCounterPolicy {
  return define('sliding-window-counter', options)
}

/** A burst of up to `capacity`, then `refillRate`. */
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy {
  return define('token-bucket', options)
}

/** Requests leave at `leakRate`; up to `capacity` wait (`delayMs`), the rest is refused. */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  return define('leaky-bucket', options)
}

/** A policy from plain data, such as `JSON.parse(JSON.stringify(policy))` or an entry of a file. */
export function definePolicy(input: unknown): Policy {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalid(undefined, `A policy is an object such as ${EXAMPLES['fixed-window']}, got ${show(input)}.`)
  }
  const algorithm = (input as { algorithm?: unknown }).algorithm
  if (typeof algorithm !== 'string' || !Object.hasOwn(FIELDS, algorithm)) {
    throw invalid(
      'algorithm',
      `algorithm must be one of ${ALGORITHM_NAMES.join(', ')}, got ${show(algorithm)}.`,
    )
  }
  const { algorithm: _, ...options } = input as Record<string, unknown>
  return define(algorithm as AlgorithmName, options)
}

const FIELDS = {
  'fixed-window': ['limit', 'window'],
  'sliding-window-log': ['limit', 'window'],
  'sliding-window-counter': ['limit', 'window'],
  'token-bucket': ['capacity', 'refillRate'],
  'leaky-bucket': ['capacity', 'leakRate'],
} as const satisfies Record<AlgorithmName, readonly [string, string]>

export const ALGORITHM_NAMES = Object.keys(FIELDS) as AlgorithmName[]

const EXAMPLES: Record<AlgorithmName, string> = {
  'fixed-window': "{ algorithm: 'fixed-window', limit: 100, window: '1m' }",
  'sliding-window-log': "{ algorithm: 'sliding-window-log', limit: 100, window: '1m' }",
  'sliding-window-counter': "{ algorithm: 'sliding-window-counter', limit: 100, window: '1m' }",
  'token-bucket': "{ algorithm: 'token-bucket', capacity: 100, refillRate: '100/1m' }",
  'leaky-bucket': "{ algorithm: 'leaky-bucket', capacity: 100, leakRate: '100/1m' }",
}

/** What every policy may have besides its two numbers. */
const COMMON_FIELDS = ['name', 'onStoreFailure', 'instances']
const ON_STORE_FAILURE: readonly unknown[] = ['open', 'closed', 'local'] satisfies OnStoreFailure[]

const MAX_LIMIT = 1_000_000_000
const MAX_LOG_LIMIT = 100_000
/** Marks every policy with the version of the copy of this package that made it. JSON and spreads do not copy it. */
const MADE_BY = Symbol.for('@tidegate/core: policy made by')
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

function define<P extends Policy>(algorithm: P['algorithm'], options: object): P {
  const [sizeField, paceField] = FIELDS[algorithm]
  if (typeof options !== 'object' || options === null) {
    const example = EXAMPLES[algorithm].replace(/algorithm: '[^']*', /, '')
    throw invalid(undefined, `${algorithm} needs options, for example ${example}.`)
  }
  for (const field of Object.keys(options)) {
    if (field !== sizeField && field !== paceField && !COMMON_FIELDS.includes(field)) {
      throw invalid(
        field,
        `${algorithm} has no ${show(field)}; it takes ${sizeField}, ${paceField}, name, onStoreFailure and instances.`,
      )
    }
  }
  const input = options as Record<string, unknown>
  const limit = sizeOf(algorithm, sizeField, input[sizeField])
  const pace =
    paceField === 'window' ? windowOf(input[paceField]) : rateOf(paceField, input[paceField], limit)
  const generatedName = [algorithm, limit, ...Object.values(pace.inName)].join('-')
  const name = nameOf(input.name) ?? generatedName
  const isNamed = name !== generatedName
  // Always both, in this order: policies of one algorithm must have one shape, or every check gets slower.
  const onStoreFailure = onStoreFailureOf(input.onStoreFailure)
  const instances = instancesOf(input.instances)
  const policy = { algorithm, name, [sizeField]: limit, [paceField]: pace.given, onStoreFailure, instances }
  for (const [property, value] of Object.entries({ limit, isNamed, ...pace.derived })) {
    if (!Object.hasOwn(policy, property)) Object.defineProperty(policy, property, { value })
  }
  Object.defineProperty(policy, MADE_BY, { value: VERSION })
  return Object.freeze(policy) as unknown as P
}

/**
 * Rejects an object that only looks like a policy: it lacks the derived numbers. Accepts a policy of another copy of this
 * package if the versions are compatible.
 */
export function assertPolicy(value: unknown): asserts value is Policy {
  const madeBy = markOf(value)
  if (madeBy !== undefined) {
    if (isCompatibleVersion(madeBy)) return
    throw invalid(
      'policy',
      `There are two copies of @tidegate/core: ${VERSION} received a policy made by ${madeBy}. Install one version of it; npm ls @tidegate/core lists the copies.`,
    )
  }
  throw invalid(
    'policy',
    `A policy is made by tokenBucket(), fixedWindow(), … or definePolicy(), got ${show(value)}.`,
  )
}

/** The version that made a policy, or undefined for any other value. */
function markOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MADE_BY)) return undefined
  const version = (value as { [MADE_BY]?: unknown })[MADE_BY]
  return typeof version === 'string' ? version : undefined
}

/** Whether two policies count alike, however their numbers were written, and whatever they do without a store. */
export function sameNumbers(a: Policy, b: Policy): boolean {
  if (a === b) return true
  if (a.algorithm !== b.algorithm || a.limit !== b.limit) return false
  return 'windowUs' in a
    ? a.windowUs === (b as typeof a).windowUs
    : a.n === (b as typeof a).n && a.d === (b as typeof a).d
}

/** What `window` or a rate comes to: as JSON shows it, as the default name tells it, as the algorithm needs it. */
interface Pace {
  given: number | Rate
  inName: number[]
  derived: Record<string, number>
}

function sizeOf(algorithm: AlgorithmName, field: string, value: unknown): number {
  const isLog = algorithm === 'sliding-window-log'
  const max = isLog ? MAX_LOG_LIMIT : MAX_LIMIT
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number
  const instead =
    isLog && typeof value === 'number' && value > max
      ? 'A log keeps the time of every unit; for more, use sliding-window-counter.'
      : `Write for example ${field}: 100.`
  throw invalid(
    field,
    `${field} must be a whole number from 1 to ${max.toLocaleString('en')}, got ${show(value)}. ${instead}`,
  )
}

function windowOf(value: unknown): Pace {
  const ms = parseDuration(value)
  if (ms === undefined || !Number.isInteger(ms) || ms < 1 || ms > MAX_DURATION_MS) {
    throw invalid(
      'window',
      `window must be 1 ms to 366 d in whole milliseconds, got ${show(value)}. Write for example '500ms', '30s', '1m', '2h' or '1d'.`,
    )
  }
  return { given: ms, inName: [ms], derived: { windowUs: ms * 1000 } }
}

function rateOf(field: string, value: unknown, capacity: number): Pace {
  const rate = parseRate(value)
  if (rate === undefined) {
    throw invalid(
      field,
      `${field} must be units per second, above 0 and below 2^53, or units per duration of 1 ms to 366 d, got ${show(value)}. Write for example 10 or '100/1m'.`,
    )
  }
  if (!fits(capacity, rate)) {
    throw invalid(
      field,
      `${field} ${show(value)} cannot be counted exactly with a capacity of ${capacity}. The nearest rate that can is '${nearestFittingRate(capacity, rate)}'.`,
    )
  }
  const [n, d] = [Number(rate.n), Number(rate.d)]
  const full = capacity * d
  return { given: value as Rate, inName: [n, d], derived: { n, d, full, spanUs: Math.floor(full / n) } }
}

function nameOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && NAME.test(value)) return value
  throw invalid(
    'name',
    `name must be 1 to 64 of a-z, 0-9, "_" and "-", beginning with a letter or digit, got ${show(value)}. Write for example 'per-user'.`,
  )
}

function onStoreFailureOf(value: unknown = 'open'): OnStoreFailure {
  if (ON_STORE_FAILURE.includes(value)) return value as OnStoreFailure
  throw invalid(
    'onStoreFailure',
    `onStoreFailure must be 'open' (let through), 'closed' (refuse) or 'local' (count in this process), got ${show(value)}. Leave it out for 'open'.`,
  )
}

function instancesOf(value: unknown = 1): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number
  throw invalid(
    'instances',
    `instances must be a whole number from 1 up, got ${show(value)}. Write how many processes share the limit, for example instances: 3.`,
  )
}

function invalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('POLICY_INVALID', message, field === undefined ? {} : { field })
}
