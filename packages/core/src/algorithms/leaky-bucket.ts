import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { LeakyBucketPolicy } from '../policy.js'
import { type Algorithm, asOf } from './algorithm.js'
import {
  type BucketState,
  convert,
  loadBucket,
  PLACES,
  putBucket,
  saveBucket,
  stillCounts,
  timeToFlow,
} from './bucket.js'
import { decideRow } from './decide-row.js'
import { mulDivCeil } from './exact.js'
import { LAYOUT } from './rows.js'

const { LEVEL, UNIT, TIME } = PLACES
const { ROW, EXPIRES_AT } = LAYOUT

/** The level is what is in it: it falls with time and rises with every request. */
export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy, BucketState> = {
  decide(policy, { numbers }, row, now, cost, mode): Decision {
    const { n, d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!

    const at = asOf(time, now, policy.spanUs)
    const moved = time > at

    const unit = numbers[state + UNIT]!
    let level = numbers[state + LEVEL]!
    if (unit !== d && unit !== 0) level = convert(policy, level, unit, mulDivCeil)
    level = Math.max(0, Math.min(full, level) - (moved ? 0 : at - time) * n)

    const room = Math.floor((full - level) / d)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : at - now + timeToFlow(policy, level + cost * d - full)
    const delay = allowed && level > 0 ? at - now + timeToFlow(policy, level) : 0
    if (charged) level += cost * d

    // From now on, not since the epoch: a bucket of centuries would pass 2^53.
    const untilEmpty = at - now + timeToFlow(policy, level)
    if (charged || (moved && mode !== 'peek')) {
      numbers[state + LEVEL] = level
      numbers[state + UNIT] = d
      numbers[state + TIME] = at
      numbers[state + EXPIRES_AT] = now + untilEmpty
    }

    const resetAfter = level === 0 ? 0 : untilEmpty
    return {
      allowed,
      limit: policy.limit,
      cost,
      remaining: charged ? room - cost : room,
      retryAfterMs: usToMs(retryAfter),
      resetAfterMs: usToMs(resetAfter),
      delayMs: usToMs(delay),
      timeMs: usToMs(now),
      policy: policy.name,
    }
  },

  check(policy, rows, row, now, cost): Decision {
    const { n, d, full } = policy
    const { numbers } = rows
    const levelPlace = row * ROW
    const timePlace = levelPlace + TIME
    const expiryPlace = levelPlace + EXPIRES_AT
    if (numbers[expiryPlace]! <= now) putBucket(numbers, levelPlace, 0, d, now)

    const time = numbers[timePlace]!
    let level = numbers[levelPlace]!
    if (level > full) level = full
    level -= (now - time) * n
    if (level < 0) level = 0

    const room = Math.floor((full - level) / d)
    if (!(cost <= room && time <= now && numbers[levelPlace + UNIT] === d)) {
      return decideRow(this, policy, rows, row, now, cost, 'take')
    }
    const delay = Math.ceil(level / n)
    level += cost * d

    const untilEmpty = Math.ceil(level / n)
    numbers[levelPlace] = level
    numbers[timePlace] = now
    numbers[expiryPlace] = now + untilEmpty

    return {
      allowed: true,
      limit: policy.limit,
      cost,
      remaining: room - cost,
      retryAfterMs: 0,
      resetAfterMs: untilEmpty / 1000,
      delayMs: delay / 1000,
      timeMs: now / 1000,
      policy: policy.name,
    }
  },

  refund(policy, { numbers }, row, now, decidedAt, cost) {
    const { n, d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!
    const at = asOf(time, now, policy.spanUs)
    if (!stillCounts(policy, decidedAt, at)) return 0
    const stored = convert(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, mulDivCeil)
    const before = Math.max(0, Math.min(full, stored) - Math.max(0, at - time) * n)
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
