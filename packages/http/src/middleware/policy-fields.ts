import {
  type AlgorithmName,
  type Duration,
  definePolicy,
  factoryName,
  type LeaseOptions,
  type OnStoreFailure,
  optionInvalid,
  type Policy,
  type Rate,
  show,
} from '@tidegate/core'

/** The fields of a policy as options: `rateLimit({ limit: 100, window: '1m' })`. */
export interface PolicyFields {
  /** The algorithm. Default: `'fixed-window'`. */
  algorithm?: AlgorithmName
  /** Requests per window. */
  limit?: number
  /** The window, such as `'1m'`, or in milliseconds. For a fixed window also `'day'`, `'week'`, `'month'` or `'year'`. */
  window?: Duration
  /** When a fixed window starts: `'epoch'`, or with a key's `'first-request'`. Default: `'epoch'`. */
  start?: 'epoch' | 'first-request'
  /** The time zone of a `'day'`, `'week'`, `'month'` or `'year'`. Default: `'UTC'`. */
  timeZone?: string
  /** The capacity of a token bucket or leaky bucket. */
  capacity?: number
  /** The rate of a token bucket: tokens per second, or for example `'100/1m'`. */
  refillRate?: Rate
  /** The rate of a leaky bucket: units per second, or for example `'100/1m'`. */
  leakRate?: Rate
  /** Whether denied requests are counted too, for windows. Default: false. */
  countDenied?: boolean
  /** Blocks a denied key for this duration, such as `'15m'`. Default: no block. */
  blockFor?: Duration
  /** Lets processes lease units of busy keys, so that most checks need no store call: see `withLeases`. Default: false. */
  lease?: boolean | LeaseOptions
  /** The name under which the store keeps the counts. Default: generated from the route or the numbers. */
  name?: string
  /** The decision while the store is unavailable: `'open'`, `'closed'` or `'local'`. Default: `'open'`. */
  onStoreFailure?: OnStoreFailure
  /** How many processes share the limit. Divides it for `onStoreFailure: 'local'` and for `lease`. Default: 1. */
  instances?: number
}

/** The fields that make up a policy. */
const NUMBER_FIELDS = ['algorithm', 'limit', 'window', 'capacity', 'refillRate', 'leakRate'] as const
export const POLICY_FIELDS = [
  ...NUMBER_FIELDS,
  'start',
  'timeZone',
  'countDenied',
  'blockFor',
  'lease',
  'name',
  'onStoreFailure',
  'instances',
] as const

export function hasNumbers(options: PolicyFields): boolean {
  return NUMBER_FIELDS.some((field) => options[field] !== undefined)
}

/** Creates the policy from its fields in the options. */
export function policyOf(options: PolicyFields): Policy {
  const { algorithm = 'fixed-window', limit } = options
  if (typeof limit === 'function') {
    throw optionInvalid(
      'limit',
      'limit must be a number, got a function. For a limit that depends on the request, write policy: (request) => fixedWindow(…).',
    )
  }
  for (const field of ['capacity', 'refillRate', 'leakRate'] as const) {
    if (options.algorithm !== undefined || options[field] === undefined) continue
    const name = field === 'leakRate' ? 'leaky-bucket' : 'token-bucket'
    throw optionInvalid('algorithm', `${field} needs an algorithm, got none. Write algorithm: '${name}'.`)
  }
  const fields = POLICY_FIELDS.filter((field) => options[field] !== undefined)
  return definePolicy({ ...Object.fromEntries(fields.map((field) => [field, options[field]])), algorithm })
}

/** The call that makes a policy of these fields: `fixedWindow({ limit: 5, window: '1m' })`. */
export function policyCode(fields: object): string {
  const { algorithm = 'fixed-window', name: _, ...others } = fields as Record<string, unknown>
  const entries = Object.entries(others).filter(([field]) =>
    (POLICY_FIELDS as readonly string[]).includes(field),
  )
  return `${factoryName(String(algorithm))}({ ${entries.map(([field, value]) => `${field}: ${typeof value === 'string' ? `'${value}'` : show(value)}`).join(', ')} })`
}
