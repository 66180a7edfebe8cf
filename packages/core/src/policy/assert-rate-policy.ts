import { TidegateError } from '../errors.js'
import type { Policy, RatePolicy } from './policy.js'

/** Rejects a concurrency policy where units are counted per time. */
export function assertRatePolicy(policy: Policy, operation: string): asserts policy is RatePolicy {
  if (policy.algorithm !== 'concurrency') return
  throw new TidegateError(
    'OPERATION_UNSUPPORTED',
    `${operation} is not available for the concurrency policy "${policy.name}". Use acquire and release.`,
    { field: 'policy' },
  )
}
