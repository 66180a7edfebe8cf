import { describe, expect, it } from 'vitest'
import { type KeyState, nextMinute } from './key-state.js'

const state = (some: Partial<KeyState>): KeyState => ({
  policy: 'p',
  algorithm: 'FIXED_WINDOW',
  limit: 10,
  allowed: true,
  remaining: 4,
  retryAfterMs: 0,
  resetAfterMs: 30_000,
  ahead: [],
  ...some,
})

describe('the next minute of a key', () => {
  it.each<[string, Partial<KeyState>, [number[], number[]]]>([
    [
      'untouched: as it is',
      { remaining: 10 },
      [
        [0, 60],
        [10, 10],
      ],
    ],
    [
      'a window: all at once when it ends',
      { ahead: [{ afterMs: 30_000, remaining: 10 }] },
      [
        [0, 30, 30, 60],
        [4, 4, 10, 10],
      ],
    ],
    [
      'a window that ends later: as it is',
      { ahead: [{ afterMs: 90_000, remaining: 10 }] },
      [
        [0, 60],
        [4, 4],
      ],
    ],
    [
      'a bucket: evenly',
      { algorithm: 'TOKEN_BUCKET', ahead: [{ afterMs: 30_000, remaining: 10 }] },
      [
        [0, 30, 60],
        [4, 10, 10],
      ],
    ],
    [
      'a bucket that needs longer: as far as it gets',
      { algorithm: 'LEAKY_BUCKET', remaining: 0, ahead: [{ afterMs: 120_000, remaining: 10 }] },
      [
        [0, 60],
        [0, 5],
      ],
    ],
  ])('%s', (_title, some, line) => {
    expect(nextMinute(state(some))).toStrictEqual(line)
  })
})
