import { show, unknownName } from '../errors.js'
import { markPolicy } from './assert-policy.js'
import {
  blockForOf,
  countDeniedOf,
  instancesOf,
  limitOf,
  nameOf,
  onStoreFailureOf,
  type PaceFields,
  rateOf,
  ttlOf,
  windowOf,
} from './fields.js'
import { invalidPolicy } from './invalid-policy.js'
import { assertLeaseFitsWindow, type LeaseTerms, leasedCapacity, leaseTermsOf } from './lease-terms.js'
import type { AlgorithmName, Policy } from './policy.js'

/**
 * Creates a policy from plain data, such as parsed JSON or an entry of a configuration file.
 *
 * @example
 * ```ts
 * const policy = definePolicy({ algorithm: 'token-bucket', capacity: 100, refillRate: '100/1m', name: 'api' })
 * ```
 */
export function definePolicy(input: unknown): Policy {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidPolicy(
      undefined,
      `A policy must be an object such as ${EXAMPLES['fixed-window']}, got ${show(input)}.`,
    )
  }
  const algorithm = (input as { algorithm?: unknown }).algorithm
  if (typeof algorithm !== 'string' || !Object.hasOwn(FIELDS, algorithm)) {
    throw invalidPolicy(
      'algorithm',
      `algorithm must be one of ${Object.keys(FIELDS).join(', ')}, got ${show(algorithm)}.`,
    )
  }
  const { algorithm: _, ...options } = input as Record<string, unknown>
  return define(algorithm as Policy['algorithm'], options)
}

/** The fields of each algorithm: the limit, the window or rate, and the options that are not common to all. */
const FIELDS: Record<Policy['algorithm'], readonly [string, string, ...string[]]> = {
  'fixed-window': ['limit', 'window', 'start', 'timeZone', 'countDenied', 'blockFor', 'lease'],
  'sliding-window-log': ['limit', 'window', 'countDenied', 'blockFor', 'lease'],
  'sliding-window-counter': ['limit', 'window', 'countDenied', 'blockFor', 'lease'],
  'token-bucket': ['capacity', 'refillRate', 'blockFor', 'lease'],
  'leaky-bucket': ['capacity', 'leakRate', 'blockFor'],
  concurrency: ['limit', 'ttl'],
}
const COMMON_FIELDS = ['name', 'onStoreFailure', 'instances']

/** The names of the five rate limiting algorithms, for `definePolicy`. */
export const ALGORITHM_NAMES = Object.keys(FIELDS).filter((name) => name !== 'concurrency') as AlgorithmName[]

const EXAMPLES: Record<Policy['algorithm'], string> = {
  'fixed-window': "{ algorithm: 'fixed-window', limit: 100, window: '1m' }",
  'sliding-window-log': "{ algorithm: 'sliding-window-log', limit: 100, window: '1m' }",
  'sliding-window-counter': "{ algorithm: 'sliding-window-counter', limit: 100, window: '1m' }",
  'token-bucket': "{ algorithm: 'token-bucket', capacity: 100, refillRate: '100/1m' }",
  'leaky-bucket': "{ algorithm: 'leaky-bucket', capacity: 100, leakRate: '100/1m' }",
  concurrency: "{ algorithm: 'concurrency', limit: 10, ttl: '30s' }",
}

export function define<P extends Policy>(algorithm: P['algorithm'], options: object): P {
  const example = EXAMPLES[algorithm].replace(/algorithm: '[^']*', /, '')
  if (typeof options !== 'object' || options === null)
    throw invalidPolicy(undefined, `${algorithm} needs options, for example ${example}.`)
  const [limitField, paceField] = FIELDS[algorithm]
  const fields = [...FIELDS[algorithm], ...COMMON_FIELDS]
  for (const field of Object.keys(options)) {
    if (fields.includes(field)) continue
    const list = `${fields.slice(0, -1).join(', ')} and ${fields.at(-1)}`
    // An option of another algorithm is not a typing error.
    const isOfAnother = Object.values(FIELDS).some((others) => (others as readonly string[]).includes(field))
    const advice = isOfAnother ? `${show(field)}; it takes ${list}` : unknownName(field, fields, list)
    const isComplete = limitField in options && paceField in options
    const numbers = isOfAnother && !isComplete ? ` Write for example ${example}.` : ''
    throw invalidPolicy(field, `${algorithm} has no ${advice}.${numbers}`)
  }
  const input = options as Record<string, unknown>
  const limit = limitOf(algorithm, limitField, input[limitField])
  const pace = paceOf(algorithm, paceField, input, limit)
  const blockFor = blockForOf(input.blockFor)
  const countDenied = countDeniedOf(input.countDenied)
  const lease = leaseTermsOf(input.lease)
  const generatedName = generateName([
    algorithm,
    limit,
    ...pace.inName,
    ...(countDenied ? ['counted'] : []),
    ...(blockFor > 0 ? ['block', blockFor] : []),
    ...(lease === undefined ? [] : ['lease', lease.maxAge, lease.share]),
  ])
  const name = nameOf(input.name) ?? generatedName
  const policy = {
    algorithm,
    name,
    [limitField]: limit,
    [paceField]: pace.value,
    onStoreFailure: onStoreFailureOf(input.onStoreFailure),
    instances: instancesOf(input.instances),
  }
  // In a fixed order, because policies of one algorithm must share a hidden class to be fast. Options with their default
  // value are not enumerable, so JSON omits them.
  for (const [property, value] of Object.entries(pace.options))
    addProperty(policy, property, value, value !== undefined)
  addProperty(policy, 'countDenied', countDenied, countDenied)
  addProperty(policy, 'blockFor', blockFor > 0 ? blockFor : undefined, blockFor > 0)
  addProperty(policy, 'lease', lease, lease !== undefined)
  const isNamed = name !== generatedName
  for (const [property, value] of Object.entries({
    limit,
    isNamed,
    blockForUs: blockFor * 1000,
    leaseUs: lease === undefined ? 0 : lease.maxAge * 1000,
    ...pace.derived,
    ...(lease && countedWith(lease, algorithm, limit, pace.derived)),
  })) {
    if (!Object.hasOwn(policy, property)) addProperty(policy, property, value, false)
  }
  markPolicy(policy)
  return Object.freeze(policy) as unknown as P
}

function addProperty(policy: object, property: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(policy, property, { value, enumerable })
}

function paceOf(
  algorithm: Policy['algorithm'],
  field: string,
  input: Record<string, unknown>,
  limit: number,
): PaceFields {
  if (field === 'window') return windowOf(algorithm, input)
  return field === 'ttl' ? ttlOf(input.ttl) : rateOf(field, input[field], limit)
}

/**
 * The derived numbers of a policy with a lease. A token bucket counts with `leasedCapacity`. Units of a log count for
 * `maxAge` longer, because they can be spent up to `maxAge` after they were taken.
 */
function countedWith(
  lease: LeaseTerms,
  algorithm: Policy['algorithm'],
  capacity: number,
  derived: Record<string, unknown>,
): object {
  if (algorithm === 'token-bucket') {
    const { n, d } = derived as { n: number; d: number }
    const limit = leasedCapacity(lease, capacity, n, d)
    return { limit, full: limit * d, spanUs: Math.floor((limit * d) / n) }
  }
  const { windowUs } = derived as { windowUs: number }
  assertLeaseFitsWindow(lease, windowUs)
  return algorithm === 'sliding-window-log' ? { windowUs: windowUs + lease.maxAge * 1000 } : {}
}

/** A name of at most 64 valid characters that differs for different numbers. */
function generateName(parts: readonly (string | number)[]): string {
  const text = parts
    .join('-')
    .toLowerCase()
    .replaceAll('+', 'plus')
    .replace(/[^a-z0-9_-]/g, '-')
  return text.length <= MAX_NAME ? text : `${text.slice(0, MAX_NAME - 8)}-${hashOf(text)}`
}

const MAX_NAME = 64

/** FNV-1a with 32 bits, in at most seven characters. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36)
}
