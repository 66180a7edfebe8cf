import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { TokenBucketPolicy } from '../policy.js'
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
import { mulDivFloor } from './exact.js'
import { LAYOUT } from './rows.js'

const { LEVEL, UNIT, TIME } = PLACES
const { ROW, EXPIRES_AT } = LAYOUT

/** The level is what is left: it rises with time and falls with every request. */
export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy, BucketState> = {
  decide(policy, { numbers }, row, now, cost, mode): Decision {
    const { n, d, full } = policy
    const state = row * ROW
    const time = numbers[state + TIME]!

    const at = asOf(time, now, policy.spanUs)
    const moved = time > at

    const unit = numbers[state + UNIT]!
    let level = numbers[state + LEVEL]!
    if (unit === 0) level = full
    else if (unit !== d) level = convert(policy, level, unit, mulDivFloor)
    level = Math.min(full, level + (moved ? 0 : at - time) * n)

    const room = Math.floor(level / d)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : at - now + timeToFlow(policy, cost * d - level)
    if (charged) level -= cost * d

    // From now on, not since the epoch: a bucket of centuries would pass 2^53.
    const untilFull = at - now + timeToFlow(policy, full - level)
    if (charged || (moved && mode !== 'peek')) {
      numbers[state + LEVEL] = level
      numbers[state + UNIT] = d
      numbers[state + TIME] = at
      numbers[state + EXPIRES_AT] = now + untilFull
    }

    const resetAfter = level === full ? 0 : untilFull
    return {
      allowed,
      limit: policy.limit,
      cost,
      remaining: charged ? room - cost : room,
      retryAfterMs: usToMs(retryAfter),
      resetAfterMs: usToMs(resetAfter),
      delayMs: 0,
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
    if (numbers[expiryPlace]! <= now) putBucket(numbers, levelPlace, full, d, now)

    const time = numbers[timePlace]!
    let level = numbers[levelPlace]! + (now - time) * n
    if (level > full) level = full

    const room = Math.floor(level / d)
    if (!(cost <= room && time <= now && numbers[levelPlace + UNIT] === d)) {
      return decideRow(this, policy, rows, row, now, cost, 'take')
    }
    level -= cost * d

    const untilFull = Math.ceil((full - level) / n)
    numbers[levelPlace] = level
    numbers[timePlace] = now
    numbers[expiryPlace] = now + untilFull

    return {
      allowed: true,
      limit: policy.limit,
      cost,
      remaining: room - cost,
      retryAfterMs: 0,
      resetAfterMs: untilFull / 1000,
      delayMs: 0,
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
    const stored = convert(policy, numbers[state + LEVEL]!, numbers[state + UNIT]!, mulDivFloor)
    const before = Math.min(full, stored + Math.max(0, at - time) * n)
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
