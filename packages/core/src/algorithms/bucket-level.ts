import type { LeakyBucketPolicy, TokenBucketPolicy } from '../policy/index.js'
import { mulDivCeil, mulDivFloor } from '../units/exact.js'

/**
 * Converts a level that was counted under another rate, where one unit counted as `unit`, to the policy's own unit `d`,
 * rounded so that the client never gains. The absolute value of the result is at most 2^53 − 1.
 */
export function convertLevel(
  policy: TokenBucketPolicy | LeakyBucketPolicy,
  level: number,
  unit: number,
  rounding: 'down' | 'up',
): number {
  if (level < 0) return -convertLevel(policy, -level, unit, rounding === 'down' ? 'up' : 'down')
  // Convert whole units and the remainder separately, so that the products stay small.
  const wholeUnits = Math.floor(level / unit)
  const mulDiv = rounding === 'down' ? mulDivFloor : mulDivCeil
  const remainder = mulDiv(level - wholeUnits * unit, policy.d, unit)
  return Math.min(Number.MAX_SAFE_INTEGER, wholeUnits * policy.d + remainder)
}
