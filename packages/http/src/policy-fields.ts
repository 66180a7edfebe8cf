import {
  type AlgorithmName,
  type Duration,
  definePolicy,
  type OnStoreFailure,
  type Policy,
  type Rate,
  TidegateError,
} from '@tidegate/core'

/** A policy written directly among the options: `rateLimit({ limit: 100, window: '1m' })`. */
export interface PolicyFields {
  /** The algorithm. Default: `'fixed-window'`. */
  algorithm?: AlgorithmName
  /** Requests per window. */
  limit?: number
  /** The length of the window: `'1m'`, or milliseconds. */
  window?: Duration
  /** The capacity of a token bucket or leaky bucket. */
  capacity?: number
  /** Tokens per second, or `'100/1m'`; for `algorithm: 'token-bucket'`. */
  refillRate?: Rate
  /** Units per second, or `'100/1m'`; for `algorithm: 'leaky-bucket'`. */
  leakRate?: Rate
  /** The name under which the store keeps the counts. Default: made of the route, or of the numbers. */
  name?: string
  /** The response while the store is unavailable. Default: `'open'`. */
  onStoreFailure?: OnStoreFailure
  /** How many processes share the limit, for `onStoreFailure: 'local'`. Default: 1. */
  instances?: number
}

/** The fields that make up a policy. */
const NUMBER_FIELDS = ['algorithm', 'limit', 'window', 'capacity', 'refillRate', 'leakRate'] as const
export const POLICY_FIELDS = [...NUMBER_FIELDS, 'name', 'onStoreFailure', 'instances'] as const

export function hasNumbers(options: PolicyFields): boolean {
  return NUMBER_FIELDS.some((field) => options[field] !== undefined)
}

/** The policy that is written among the options. */
export function policyOf(options: PolicyFields): Policy {
  const { algorithm = 'fixed-window', limit } = options
  if (typeof limit === 'function') {
    throw invalid(
      'limit',
      'limit must be a number. A limit for each request is written policy: (request) => fixedWindow(…).',
    )
  }
  for (const field of ['capacity', 'refillRate', 'leakRate'] as const) {
    if (options.algorithm !== undefined || options[field] === undefined) continue
    const named = field === 'leakRate' ? 'leaky-bucket' : 'token-bucket'
    throw invalid('algorithm', `${field} needs an algorithm. Write algorithm: '${named}'.`)
  }
  const fields = POLICY_FIELDS.filter((field) => options[field] !== undefined)
  return definePolicy({ ...Object.fromEntries(fields.map((field) => [field, options[field]])), algorithm })
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
