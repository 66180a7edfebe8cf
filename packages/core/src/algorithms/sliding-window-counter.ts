import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { SlidingWindowCounterPolicy } from '../policy.js'
import { type Algorithm, asOf } from './algorithm.js'
import { decideRow } from './decide-row.js'
import { mulDivCeil, mulDivFloor } from './exact.js'
import { windowStart } from './fixed-window.js'
import { LAYOUT } from './rows.js'

/** The count of the window `[start, start + length)`, and of the one before it. All zeros: untouched. */
export interface SlidingWindowCounterState {
  start: number
  length: number
  prev: number
  curr: number
}

/** The start is not kept: a state expires two lengths after it. The length is first: `check` counts on it. */
const LENGTH = 0
const PREV = 1
const CURR = 2
const { ROW, EXPIRES_AT } = LAYOUT

export const slidingWindowCounterAlgorithm: Algorithm<SlidingWindowCounterPolicy, SlidingWindowCounterState> =
  {
    decide(policy, { numbers }, row, now, cost, mode): Decision {
      const { limit, windowUs } = policy
      const state = row * ROW
      let length = numbers[state + LENGTH]!
      let start = numbers[state + EXPIRES_AT]! - 2 * length
      let prev = numbers[state + PREV]!
      let curr = numbers[state + CURR]!

      const at = asOf(start, now, windowUs)
      const moved = start > at
      if (moved) {
        // Where the other clock's windows lay means nothing here: both counts fall into the current one.
        start = windowStart(now, length)
        curr += prev
        prev = 0
      }

      if (at >= start + 2 * length) {
        start = windowStart(at, windowUs)
        length = windowUs
        prev = 0
        curr = 0
      } else if (at >= start + length) {
        start += length
        prev = curr
        curr = 0
      }
      // All of curr, and prev by the share of its window that the last `length` microseconds still cover.
      const used = prev === 0 ? curr : curr + mulDivFloor(prev, start + length - at, length)

      const room = Math.max(0, limit - used)
      const allowed = cost <= room
      const charged = allowed && mode === 'take'
      const retryAfter = allowed ? 0 : momentOf(limit - cost, start, length, prev, curr) - now
      if (charged && length === windowUs) {
        curr += cost
      } else if (charged) {
        // Counted in windows of another length: what they come to at this moment is what has been used.
        start = windowStart(at, windowUs)
        length = windowUs
        prev = 0
        curr = used + cost
      }

      if (charged || (moved && mode !== 'peek')) {
        numbers[state + LENGTH] = length
        numbers[state + PREV] = prev
        numbers[state + CURR] = curr
        numbers[state + EXPIRES_AT] = start + 2 * length
      }

      const resetAfter = charged || used > 0 ? momentOf(0, start, length, prev, curr) - now : 0
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
      const lengthPlace = row * ROW
      const currPlace = lengthPlace + CURR
      const expiryPlace = lengthPlace + EXPIRES_AT
      if (numbers[expiryPlace]! <= now) openWindow(numbers, lengthPlace, now, windowUs)

      const end = numbers[expiryPlace]!
      const left = end - windowUs - now
      const prev = numbers[lengthPlace + PREV]!
      const curr = numbers[currPlace]! + cost
      const used = prev === 0 ? curr : curr + mulDivFloor(prev, left, windowUs)
      if (!(used <= limit && left <= windowUs && left > 0 && numbers[lengthPlace] === windowUs)) {
        return decideRow(this, policy, rows, row, now, cost, 'take')
      }
      numbers[currPlace] = curr

      return {
        allowed: true,
        limit,
        cost,
        remaining: limit - used,
        retryAfterMs: 0,
        // What `momentOf` says of no room at all where something has been counted.
        resetAfterMs: (end - Math.ceil(windowUs / curr) + 1 - now) / 1000,
        delayMs: 0,
        timeMs: now / 1000,
        policy: policy.name,
      }
    },

    refund(policy, { numbers }, row, now, decidedAt, cost) {
      const state = row * ROW
      const length = numbers[state + LENGTH]!
      const start = numbers[state + EXPIRES_AT]! - 2 * length
      const at = asOf(start, now, policy.windowUs)
      if (at < start || at >= start + 2 * length) return 0
      const inCurr = decidedAt >= start && decidedAt < start + length
      const inPrev = decidedAt >= start - length && decidedAt < start && at < start + length
      if (!inCurr && !inPrev) return 0
      const field = state + (inCurr ? CURR : PREV)
      const given = Math.min(cost, numbers[field]!)
      numbers[field]! -= given
      if (numbers[state + PREV] === 0 && numbers[state + CURR] === 0) numbers[state + EXPIRES_AT] = 0
      return given
    },

    load({ numbers }, row) {
      const state = row * ROW
      const length = numbers[state + LENGTH]!
      return {
        start: numbers[state + EXPIRES_AT]! - 2 * length,
        length,
        prev: numbers[state + PREV]!,
        curr: numbers[state + CURR]!,
      }
    },

    save({ start, length, prev, curr }, { numbers }, row) {
      const state = row * ROW
      numbers[state + LENGTH] = length
      numbers[state + PREV] = prev
      numbers[state + CURR] = curr
      numbers[state + EXPIRES_AT] = start + 2 * length
    },
  }

/** A row that means nothing any more becomes one of the current window, with nothing counted yet. */
function openWindow(numbers: number[], state: number, now: number, windowUs: number): void {
  numbers[state + LENGTH] = windowUs
  numbers[state + PREV] = 0
  numbers[state + CURR] = 0
  numbers[state + EXPIRES_AT] = windowStart(now, windowUs) + 2 * windowUs
}

/** The first moment at which no more than `room` counts as used, it being more now. */
function momentOf(room: number, start: number, length: number, prev: number, curr: number): number {
  // A count's share has come down to r once less than (r + 1) ÷ count of the window is left.
  if (curr <= room) return start + length - mulDivCeil(room - curr + 1, length, prev) + 1
  return start + 2 * length - mulDivCeil(room + 1, length, curr) + 1
}
