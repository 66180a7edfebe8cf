import { type Decision, decision } from '../decision.js'
import type { TokenBucketPolicy } from '../policy.js'
import { type Algorithm, asOf } from './algorithm.js'
import {
  type BucketState,
  convert,
  loadBucket,
  PLACES,
  saveBucket,
  stillCounts,
  timeToFlow,
} from './bucket.js'
import { mulDivFloor } from './exact.js'
import { LAYOUT } from './rows.js'

const { LEVEL, UNIT, TIME } = PLACES
const { ROW, EXPIRES_AT } = LAYOUT

/** The level is what is left: it rises with time and falls with every request. */
export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy, BucketState> = {
  decide(policy, { numbers }, row, now, cost, mode): Decision {
    const { d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!

    const at = asOf(time, now, policy.spanUs)
    const moved = time > at

    let level = levelAfter(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, moved ? 0 : at - time)

    const room = Math.floor(level / d)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : at - now + timeToFlow(policy, cost * d - level)
    if (charged) level -= cost * d

    const refilled = at + timeToFlow(policy, full - level)
    if (charged || (moved && mode !== 'peek')) {
      numbers[state + LEVEL] = level
      numbers[state + UNIT] = d
      numbers[state + TIME] = at
      numbers[state + EXPIRES_AT] = refilled
    }

    const remaining = charged ? room - cost : room
    const resetAfter = level === full ? 0 : refilled - now
    return decision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, delay: 0 })
  },

  refund(policy, { numbers }, row, now, decidedAt, cost) {
    const { d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!
    const at = asOf(time, now, policy.spanUs)
    if (!stillCounts(policy, decidedAt, at)) return 0
    const before = levelAfter(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, Math.max(0, at - time))
    const given = Math.min(cost * d, full - before)
    if (given === 0) return 0
    const level = before + given
    numbers[state + LEVEL] = level
    numbers[state + UNIT] = d
    numbers[state + TIME] = at
    numbers[state + EXPIRES_AT] = level === full ? 0 : at + timeToFlow(policy, full - level)
    return given / d
  },

  load: loadBucket,
  save: saveBucket,
}

/** A level after `passed` microseconds of refilling; never above full. */
function levelAfter(policy: TokenBucketPolicy, stored: number, unit: number, passed: number): number {
  if (unit === 0) return policy.full
  const level = unit === policy.d ? stored : convert(policy, stored, unit, mulDivFloor)
  return Math.min(policy.full, level + passed * policy.n)
}
