import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { FixedWindowPolicy } from '../policy.js'
import { type Algorithm, asOf } from './algorithm.js'
import { decideRow } from './decide-row.js'
import { LAYOUT } from './rows.js'

/** A count, and the window it was counted in: `[start, start + length)`. All zeros: untouched. */
export interface FixedWindowState {
  start: number
  length: number
  count: number
}

/** Where they are in a row. The start is first: `check` counts on it. */
const START = 0
const LENGTH = 1
const COUNT = 2
const { ROW, EXPIRES_AT } = LAYOUT

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy, FixedWindowState> = {
  decide(policy, { numbers }, row, now, cost, mode): Decision {
    const { limit, windowUs } = policy
    const state = row * ROW
    let start = numbers[state + START]!
    let length = numbers[state + LENGTH]!
    let count = numbers[state + COUNT]!

    const at = asOf(start, now, windowUs)
    const moved = start > at
    if (moved) start = windowStart(now, length)

    if (at >= start + length) {
      start = windowStart(at, windowUs)
      length = windowUs
      count = 0
    }

    const room = Math.max(0, limit - count)
    const allowed = cost <= room
    const charged = allowed && mode === 'take'
    const retryAfter = allowed ? 0 : start + length - now
    if (charged) {
      // A window of another length that is not over yet hands its count to the current one.
      if (length !== windowUs) {
        start = windowStart(at, windowUs)
        length = windowUs
      }
      count += cost
    }

    const end = start + length
    if (charged || (moved && mode !== 'peek')) {
      numbers[state + START] = start
      numbers[state + LENGTH] = length
      numbers[state + COUNT] = count
      numbers[state + EXPIRES_AT] = end
    }

    const resetAfter = count === 0 ? 0 : end - now
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
    const { limit, windowUs } = policy
    const { numbers } = rows
    const startPlace = row * ROW
    const countPlace = startPlace + COUNT
    if (numbers[startPlace + EXPIRES_AT]! <= now) openWindow(numbers, startPlace, now, windowUs)

    const start = numbers[startPlace]!
    const left = start + windowUs - now
    const count = numbers[countPlace]! + cost
    if (!(count <= limit && start <= now && numbers[startPlace + LENGTH] === windowUs)) {
      return decideRow(this, policy, rows, row, now, cost, 'take')
    }
    numbers[countPlace] = count

    return {
      allowed: true,
      limit,
      cost,
      remaining: limit - count,
      retryAfterMs: 0,
      resetAfterMs: left / 1000,
      delayMs: 0,
      timeMs: now / 1000,
      policy: policy.name,
    }
  },

  refund(policy, { numbers }, row, now, decidedAt, cost) {
    const state = row * ROW
    const start = numbers[state + START]!
    const end = start + numbers[state + LENGTH]!
    const at = asOf(start, now, policy.windowUs)
    if (at < start || at >= end || decidedAt < start || decidedAt >= end) return 0
    const count = numbers[state + COUNT]!
    const given = Math.min(cost, count)
    numbers[state + COUNT] = count - given
    if (given === count) numbers[state + EXPIRES_AT] = 0
    return given
  },

  load({ numbers }, row) {
    const state = row * ROW
    return {
      start: numbers[state + START]!,
      length: numbers[state + LENGTH]!,
      count: numbers[state + COUNT]!,
    }
  },

  save({ start, length, count }, { numbers }, row) {
    const state = row * ROW
    numbers[state + START] = start
    numbers[state + LENGTH] = length
    numbers[state + COUNT] = count
  },
}

/** A row that means nothing any more becomes one of the current window, with nothing counted yet. */
function openWindow(numbers: number[], state: number, now: number, windowUs: number): void {
  const start = windowStart(now, windowUs)
  numbers[state + START] = start
  numbers[state + LENGTH] = windowUs
  numbers[state + COUNT] = 0
  numbers[state + EXPIRES_AT] = start + windowUs
}

/** The start of the window that `at` falls in, windows being aligned to the epoch. */
export function windowStart(at: number, length: number): number {
  return Math.floor(at / length) * length
}
