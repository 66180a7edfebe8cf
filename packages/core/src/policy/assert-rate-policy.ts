import { TidegateError } from '../errors.js'
import type { Policy, RatePolicy } from './policy.js'

/** Throws `OPERATION_UNSUPPORTED` for a concurrency policy. `operation` is the name in the message. */
export function assertRatePolicy(policy: Policy, operation: string): asserts policy is RatePolicy {
  if (policy.algorithm !== 'concurrency') return
  throw new TidegateError(
    'OPERATION_UNSUPPORTED',
    `${operation} is not available for the concurrency policy "${policy.name}". Use acquire and release.`,
    { field: 'policy' },
  )
}
