import { expect, it } from 'vitest'
import { roundMoments } from './round-moments.js'

it.each([
  ['four minutes', 0, 240_000, 8, [30_000, 60_000, 90_000, 120_000, 150_000, 180_000, 210_000]],
  ['an axis that starts at 45 seconds', 45_000, 40_000, 4, [15_000, 25_000]],
  ['two seconds', 0, 2000, 4, [500, 1000, 1500]],
  ['four months', 0, 124 * 86_400_000, 8, [20, 40, 60, 80, 100].map((day) => day * 86_400_000)],
  ['six days', 0, 6 * 86_400_000, 6, [1, 2, 3, 4, 5].map((day) => day * 86_400_000)],
])('round times of %s', (_title, originMs, spanMs, atMost, expected) => {
  expect(roundMoments(originMs, spanMs, atMost)).toStrictEqual(expected)
})
