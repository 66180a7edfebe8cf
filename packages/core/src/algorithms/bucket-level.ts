import type { LeakyBucketPolicy, TokenBucketPolicy } from '../policy.js'
import { mulDivCeil, mulDivFloor } from '../units/exact.js'

/**
 * Converts a level that was counted under another rate, where one unit counted as `unit`, to the policy's own unit `d`.
 * The result is at most a full bucket, and is rounded in the direction that never gains the client anything.
 */
export function convertLevel(
  policy: TokenBucketPolicy | LeakyBucketPolicy,
  level: number,
  unit: number,
  rounding: 'down' | 'up',
): number {
  // Whole units first: below the capacity, no later value can pass 2^53.
  const whole = Math.floor(level / unit)
  if (whole >= policy.capacity) return policy.full
  const mulDiv = rounding === 'down' ? mulDivFloor : mulDivCeil
  return whole * policy.d + mulDiv(level - whole * unit, policy.d, unit)
}
