import type { LeakyBucketPolicy, TokenBucketPolicy } from '../policy.js'
import type { mulDivFloor } from './exact.js'
import { LAYOUT, type Rows } from './rows.js'

/*
 * What the two buckets share. A rate is n units per d microseconds, so a level counts one unit as d and
 * changes by n every microsecond: whole numbers, and no fraction is ever lost.
 */

/** A level, counted in units of 1 ÷ `unit`, as it was at `time`. All zeros: untouched. */
export interface BucketState {
  level: number
  unit: number
  time: number
}

/** Where they are in a row. The level is first: `check` counts on it. */
export const PLACES = { LEVEL: 0, UNIT: 1, TIME: 2 } as const

const { LEVEL, UNIT, TIME } = PLACES
const { ROW } = LAYOUT

type BucketPolicy = TokenBucketPolicy | LeakyBucketPolicy

/** The time in which at least `amount` of a level, 0 or more, flows in or out. */
export function timeToFlow(policy: BucketPolicy, amount: number): number {
  return Math.ceil(amount / policy.n)
}

/** A level counted in another unit, in the policy's own and cut to its capacity. */
export function convert(
  policy: BucketPolicy,
  level: number,
  unit: number,
  roundedAgainstTheClient: typeof mulDivFloor,
): number {
  // Whole units first: below the capacity, nothing that follows can pass 2^53.
  const whole = Math.floor(level / unit)
  if (whole >= policy.capacity) return policy.full
  return whole * policy.d + roundedAgainstTheClient(level - whole * unit, policy.d, unit)
}

/** Whether what was charged at `decidedAt` could still be felt at `at`. */
export function stillCounts(policy: BucketPolicy, decidedAt: number, at: number): boolean {
  return decidedAt <= at && at - decidedAt < timeToFlow(policy, policy.full)
}

export function loadBucket({ numbers }: Rows, row: number): BucketState {
  const state = row * ROW
  return { level: numbers[state + LEVEL]!, unit: numbers[state + UNIT]!, time: numbers[state + TIME]! }
}

export function saveBucket({ level, unit, time }: BucketState, { numbers }: Rows, row: number): void {
  putBucket(numbers, row * ROW, level, unit, time)
}

export function putBucket(numbers: number[], state: number, level: number, unit: number, time: number): void {
  numbers[state + LEVEL] = level
  numbers[state + UNIT] = unit
  numbers[state + TIME] = time
}
