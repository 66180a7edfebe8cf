import type { Decision } from '../decision.js'
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'

/** A whole number of hours since the epoch, so that windows begin at the start of the tables. */
export const START_MS = 1_800_000_000_000

/** One check: its time in milliseconds after the start, its cost, and the expected decision. */
export type Row = readonly [
  at: number,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAfterMs: number,
  delayMs?: number,
]

export interface Table {
  title: string
  policy: Policy
  rows: readonly Row[]
}

export const TABLES: readonly Table[] = [
  {
    title: 'fixed window: 10 a minute, counted from the full minute',
    policy: fixedWindow({ limit: 10, window: '1m', name: 'fixed' }),
    rows: [
      [0, 1, true, 9, 0, 60_000],
      [30_000, 8, true, 1, 0, 30_000],
      // 2 no longer fit, 1 does
      [30_000, 2, false, 1, 30_000, 30_000],
      [59_999.999, 1, true, 0, 0, 0.001],
      [59_999.999, 1, false, 0, 0.001, 0.001],
      // the next window begins on the microsecond
      [60_000, 10, true, 0, 0, 60_000],
      [61_000, 1, false, 0, 59_000, 59_000],
      [180_000, 10, true, 0, 0, 60_000],
    ],
  },
  {
    title: 'sliding window log: each unit leaves exactly one window later',
    policy: slidingWindowLog({ limit: 5, window: '10s', name: 'log' }),
    rows: [
      [0, 2, true, 3, 0, 10_000],
      [1000, 2, true, 1, 0, 10_000],
      [1000, 2, false, 1, 9000, 10_000],
      [2000, 1, true, 0, 0, 10_000],
      // one unit needs one of the two that leave at 10 s, three need one more at 11 s
      [3000, 1, false, 0, 7000, 9000],
      [3000, 3, false, 0, 8000, 9000],
      [9999.999, 1, false, 0, 0.001, 2000.001],
      [10_000, 1, true, 1, 0, 10_000],
      [11_000, 3, true, 0, 0, 10_000],
      [40_000, 5, true, 0, 0, 10_000],
    ],
  },
  {
    title: 'sliding window counter: the last window counts by the share still covered',
    policy: slidingWindowCounter({ limit: 100, window: '1m', name: 'counter' }),
    rows: [
      [0, 80, true, 20, 0, 119_250.001],
      // half of 80 is left, and 40 come: 80 × 0.5 + 40 = 80
      [90_000, 40, true, 20, 0, 88_500.001],
      [90_000, 21, false, 20, 0.001, 88_500.001],
      [90_000, 20, true, 0, 0, 89_000.001],
      // floor(80 × 0.5) falls by one 1 µs later, by ten after another ninth of a minute
      [90_000, 1, false, 0, 0.001, 89_000.001],
      [90_000, 10, false, 0, 6750.001, 89_000.001],
      [240_000, 100, true, 0, 0, 119_400.001],
    ],
  },
  {
    title: 'token bucket: a burst of 10, then 2 a second',
    policy: tokenBucket({ capacity: 10, refillRate: 2, name: 'token' }),
    rows: [
      [0, 10, true, 0, 0, 5000],
      [0, 1, false, 0, 500, 5000],
      [499.999, 1, false, 0, 0.001, 4500.001],
      [500, 1, true, 0, 0, 5000],
      [1250, 1, true, 0, 0, 4750],
      [1250, 10, false, 0, 4750, 4750],
      [6000, 10, true, 0, 0, 5000],
      [60_000, 3, true, 7, 0, 1500],
    ],
  },
  {
    title: 'leaky bucket: holds 4, lets one go every 2 s',
    policy: leakyBucket({ capacity: 4, leakRate: 0.5, name: 'leaky' }),
    rows: [
      [0, 1, true, 3, 0, 2000, 0],
      [0, 1, true, 2, 0, 4000, 2000],
      [0, 2, true, 0, 0, 8000, 4000],
      [0, 1, false, 0, 2000, 8000, 0],
      [1999.999, 1, false, 0, 0.001, 6000.001, 0],
      [2000, 1, true, 0, 0, 8000, 6000],
      // twice 3 s at 0.5 a second are 3, not two floors of 1.5
      [5000, 1, true, 0, 0, 7000, 5000],
      [8000, 1, true, 1, 0, 6000, 4000],
    ],
  },
]

export function expectedDecision(policy: Policy, row: Row, timeMs: number): Decision {
  const [, cost, allowed, remaining, retryAfterMs, resetAfterMs, delayMs = 0] = row
  return {
    allowed,
    limit: policy.limit,
    cost,
    remaining,
    retryAfterMs,
    resetAfterMs,
    delayMs,
    timeMs,
    policy: policy.name,
  }
}
