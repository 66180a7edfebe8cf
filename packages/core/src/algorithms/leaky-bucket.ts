import { type Decision, decision } from '../decision.js'
import type { LeakyBucketPolicy } from '../policy.js'
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
import { mulDivCeil } from './exact.js'
import { LAYOUT } from './rows.js'

const { LEVEL, UNIT, TIME } = PLACES
const { ROW, EXPIRES_AT } = LAYOUT

/** The level is what is in it: it falls with time and rises with every request. */
export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy, BucketState> = {
  decide(policy, { numbers }, row, now, cost, mode): Decision {
    const { d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!

    const at = asOf(time, now, policy.spanUs)
    const moved = time > at

    let level = levelAfter(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, moved ? 0 : at - time)

    const room = Math.floor((full - level) / d)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : at - now + timeToFlow(policy, level + cost * d - full)
    const delay = allowed && level > 0 ? at - now + timeToFlow(policy, level) : 0
    if (charged) level += cost * d

    const drained = at + timeToFlow(policy, level)
    if (charged || (moved && mode !== 'peek')) {
      numbers[state + LEVEL] = level
      numbers[state + UNIT] = d
      numbers[state + TIME] = at
      numbers[state + EXPIRES_AT] = drained
    }

    const remaining = charged ? room - cost : room
    const resetAfter = level === 0 ? 0 : drained - now
    return decision(policy, now, cost, { allowed, remaining, retryAfter, resetAfter, delay })
  },

  refund(policy, { numbers }, row, now, decidedAt, cost) {
    const { d } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!
    const at = asOf(time, now, policy.spanUs)
    if (!stillCounts(policy, decidedAt, at)) return 0
    const before = levelAfter(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, Math.max(0, at - time))
    const given = Math.min(cost * d, before)
    if (given === 0) return 0
    const level = before - given
    numbers[state + LEVEL] = level
    numbers[state + UNIT] = d
    numbers[state + TIME] = at
    numbers[state + EXPIRES_AT] = level === 0 ? 0 : at + timeToFlow(policy, level)
    return given / d
  },

  load: loadBucket,
  save: saveBucket,
}

/** A level after `passed` microseconds of draining; never below empty. */
function levelAfter(policy: LeakyBucketPolicy, stored: number, unit: number, passed: number): number {
  const { n, d, full } = policy
  if (unit === 0) return 0
  const level = unit === d ? Math.min(stored, full) : convert(policy, stored, unit, mulDivCeil)
  return Math.max(0, level - passed * n)
}
