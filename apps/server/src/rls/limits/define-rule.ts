import { createHash } from 'node:crypto'
import { definePolicy, type FixedWindowPolicy, fixedWindow, type OnStoreFailure } from '@tidegate/core'
import type { Counter } from './rule.js'

/** Options of every policy of the rate limit service. */
export interface PolicyTerms {
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number
}

export interface CounterOptions {
  /** The path of the rule. */
  readonly path: string
  readonly limit: number
  readonly window: string
  readonly algorithm: string
}

/** Algorithms of a rule. Not the leaky bucket, which delays requests: the protocol cannot. */
export const RULE_ALGORITHMS = [
  'fixed-window',
  'sliding-window-counter',
  'sliding-window-log',
  'token-bucket',
] as const

/** The counter of a rule. Throws a `TidegateError` if a number is out of range. */
export function defineCounter(options: CounterOptions, terms: PolicyTerms): Counter | undefined {
  const { limit, window, algorithm } = options
  const name = policyName(options)
  if (algorithm === 'fixed-window') return fixedCounter({ name, limit, window }, terms)
  if (limit === 0) return undefined
  const numbers =
    algorithm === 'token-bucket' ? { capacity: limit, refillRate: `${limit}/${window}` } : { limit, window }
  const policy = definePolicy({ name, algorithm, ...numbers, ...terms } as never)
  return { kind: 'rolling', policy: policy as Extract<Counter, { kind: 'rolling' }>['policy'] }
}

export function fixedCounter(
  { name, limit, window }: { readonly name: string; readonly limit: number; readonly window: string },
  terms: PolicyTerms,
): Counter {
  const policy = (units: number): FixedWindowPolicy =>
    fixedWindow({ name, limit: units, window, ...terms } as never)
  return { kind: 'fixed', counting: policy(limit + 1), exact: limit === 0 ? undefined : policy(limit) }
}

/**
 * One name for each rule and window, so that a changed limit continues with the same counts and a changed window does not.
 */
function policyName({ path, window, algorithm }: CounterOptions): string {
  const words = path.toLowerCase().replace(/[^a-z0-9_]+/g, '-')
  const hash = createHash('sha256')
    .update(JSON.stringify([path, window, algorithm]))
    .digest('hex')
  return `rls-${words.slice(0, 40)}-${hash.slice(0, 16)}`
}
