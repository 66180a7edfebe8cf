import { describe, expect, it } from 'vitest'
import { forecastAxis, forecastLine, type KeyState } from './key-state.js'

const keyState = (changes: Partial<KeyState>): KeyState => ({
  policy: 'p',
  algorithm: 'FIXED_WINDOW',
  limit: 10,
  allowed: true,
  remaining: 4,
  retryAfterMs: 0,
  resetAfterMs: 30_000,
  ahead: [],
  ...changes,
})

describe('forecastLine', () => {
  it.each<[string, Partial<KeyState>, [number[], number[]]]>([
    [
      'an unused key stays full',
      { remaining: 10 },
      [
        [0, 60_000],
        [10, 10],
      ],
    ],
    [
      'a window resets at once when it ends',
      { ahead: [{ afterMs: 30_000, remaining: 10 }] },
      [
        [0, 30_000, 30_000, 60_000],
        [4, 4, 10, 10],
      ],
    ],
    [
      'a bucket fills evenly',
      { algorithm: 'TOKEN_BUCKET', ahead: [{ afterMs: 30_000, remaining: 10 }] },
      [
        [0, 30_000, 60_000],
        [4, 10, 10],
      ],
    ],
  ])('%s', (_title, changes, line) => {
    expect(forecastLine(keyState(changes), 60_000)).toStrictEqual(line)
  })
})

const MINUTE = 60_000
it.each([
  [100, MINUTE],
  [MINUTE, MINUTE],
  [14.5 * MINUTE, 15 * MINUTE],
  [30 * 1440 * MINUTE, 31 * 1440 * MINUTE],
  [1000 * 1440 * MINUTE, 366 * 1440 * MINUTE],
])('a key that is restored after %d ms has a forecast of %d ms', (resetAfterMs, spanMs) => {
  expect(forecastAxis(resetAfterMs).spanMs).toBe(spanMs)
})
